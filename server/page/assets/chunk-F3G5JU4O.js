function i(t,e){t.style.height="auto",t.style.height=`${Math.min(t.scrollHeight+2,e)}px`}export{i as a};
