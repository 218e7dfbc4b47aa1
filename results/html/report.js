// The page of one run starts.
document.querySelectorAll("table.heat").forEach(startHeatmap);
startFilters();
startCurves();
startPane();
startLinks();
