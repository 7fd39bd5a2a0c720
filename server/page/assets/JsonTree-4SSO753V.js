import{a}from"./chunk-4VIHPI56.js";import"./chunk-TP56UPHZ.js";import"./chunk-CIA3A7FZ.js";import"./chunk-FDMXRUTL.js";import"./chunk-GGW5LCZT.js";import"./chunk-SQE76S5B.js";export{a as JsonTree};
