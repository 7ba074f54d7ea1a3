// Keys scroll what is wider than the page: blocks of code, and the tables that the theme has wrapped.
addEventListener("load", () => {
  for (const wide of document.querySelectorAll("pre > code, .md-typeset__scrollwrap")) {
    wide.tabIndex = 0;
  }
});
