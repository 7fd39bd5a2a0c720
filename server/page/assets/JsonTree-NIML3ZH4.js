import{a}from"./chunk-LY7YXPCX.js";import"./chunk-J3MWH2NI.js";import"./chunk-NPCL7BU7.js";import"./chunk-FDMXRUTL.js";import"./chunk-6RGHMQEU.js";import"./chunk-SQE76S5B.js";export{a as JsonTree};
