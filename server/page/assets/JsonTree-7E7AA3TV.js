import{a}from"./chunk-EQNUVBLJ.js";import"./chunk-YAJ42RK3.js";import"./chunk-3K36QL2J.js";import"./chunk-FDMXRUTL.js";import"./chunk-BN5JQ63O.js";import"./chunk-SQE76S5B.js";export{a as JsonTree};
