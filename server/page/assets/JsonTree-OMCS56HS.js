import{a}from"./chunk-KXKRIJL7.js";import"./chunk-34XZT2YP.js";import"./chunk-4HGJVLBY.js";import"./chunk-FDMXRUTL.js";import"./chunk-C7T2MRTK.js";import"./chunk-SQE76S5B.js";export{a as JsonTree};
