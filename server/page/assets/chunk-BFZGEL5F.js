function e(t){let n=t?.metadata.flow_name;return typeof n=="string"?n:null}export{e as a};
