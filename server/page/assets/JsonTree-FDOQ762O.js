import{a}from"./chunk-I4QJ5UJX.js";import"./chunk-XZWDYCS6.js";import"./chunk-LG3LMWPI.js";import"./chunk-FDMXRUTL.js";import"./chunk-ZWMLYVOG.js";import"./chunk-SQE76S5B.js";export{a as JsonTree};
