import{l as t}from"./chunk-BN5JQ63O.js";var n=t(null),l=t(null);function s(e){n.value=e}var i=t(!1);export{n as a,l as b,s as c,i as d};
