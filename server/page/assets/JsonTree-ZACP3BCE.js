import{a}from"./chunk-3AX2VWGL.js";import"./chunk-YI44H4YO.js";import"./chunk-7KDVLHO4.js";import"./chunk-FDMXRUTL.js";import"./chunk-XRFSBLX6.js";import"./chunk-SQE76S5B.js";export{a as JsonTree};
