// Package chart draws figures for print: panels, axes, lines, bars and legends, as PNG, SVG, PDF and LaTeX.
package chart
