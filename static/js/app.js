// Every page's script: what an hx- attribute cannot do. Each module listens for itself. Two places in this order matter:
// folds are open again before focus.js looks for what had the focus, and place.js scrolls when the others have changed
// the layout. Imports have no circles: a file's hashed name follows from the files that it imports.
import "./folds.js";
import "./focus.js";
import "./times.js";
import "./windows.js";
import "./live.js";
import "./notices.js";
import "./copy.js";
import "./busy.js";
import "./colours.js";
import "./draft.js";
import "./panel.js";
import "./sheet.js";
import "./editing.js";
import "./keyboard.js";
import "./toc.js";
import "./theme.js";
import "./place.js";
