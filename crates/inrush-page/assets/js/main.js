// The begin of the page: what it has in itself, or the process that serves it.

const embedded = (id) => document.getElementById(id)?.textContent;
const [runs, recording, sweep] = ["inrush-runs", "inrush-segments", "inrush-sweep"].map(embedded);
if (runs) showReport(document.body, JSON.parse(runs));
else if (recording) showRecording(document.body, JSON.parse(recording));
else if (sweep) showSweep(document.body, JSON.parse(sweep));
else showLive(document.body);
