"use strict";
// Shows the curves against one horizontal axis, or against all. Without this script all are visible.
const form = document.getElementById("axes");
const choose = () => { document.body.dataset.axis = form.elements.axis.value; };
form.hidden = false;
form.addEventListener("change", choose);
choose();
