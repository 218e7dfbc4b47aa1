// The page of a comparison starts.
document.querySelectorAll("table.heat").forEach(startHeatmap);
startChanges();
startPane();
startLinks();
