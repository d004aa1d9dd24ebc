// Written beside live.js; see pipeline/pages.
