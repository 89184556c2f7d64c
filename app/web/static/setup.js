// Goes on to GitHub by itself, but not for who has come back from there.
"use strict";
const came = performance.getEntriesByType("navigation")[0];
if (!came || came.type !== "back_forward") document.getElementById("go").submit();
