import{l as t}from"./chunk-6RGHMQEU.js";var n=t(null),o=t(null);function s(e){n.value=e}var i=t(!1);export{n as a,o as b,s as c,i as d};
