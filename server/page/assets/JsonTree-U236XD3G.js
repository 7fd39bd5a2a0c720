import{a}from"./chunk-BIDIZTG4.js";import"./chunk-WNRHZRDI.js";import"./chunk-PPEWK2E4.js";import"./chunk-FDMXRUTL.js";import"./chunk-NC7B6YAS.js";import"./chunk-SQE76S5B.js";export{a as JsonTree};
