// The begin of the page: what it has in itself, or the process that serves it.

const embedded = (id) => document.getElementById(id)?.textContent;
const [runs, recording] = [embedded("inrush-runs"), embedded("inrush-segments")];
if (runs) showReport(document.body, JSON.parse(runs));
else if (recording) showRecording(document.body, JSON.parse(recording));
else showLive(document.body);
