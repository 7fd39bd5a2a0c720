import{a}from"./chunk-RDS56LCW.js";import"./chunk-6C43QS7F.js";import"./chunk-4HGJVLBY.js";import"./chunk-FDMXRUTL.js";import"./chunk-C7T2MRTK.js";import"./chunk-SQE76S5B.js";export{a as JsonTree};
