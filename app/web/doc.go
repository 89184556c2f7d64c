// Package web renders the pages of the dashboard: the queues, one queue, one change. Pages
// are HTML from html/template and read-only; they hold no code. All text on them that
// people or programs wrote is hostile: the templates escape it, and it is never marked as
// safe. Only the pages of package docs, which are our own files, come as HTML.
//
// A page is of use without scripts. static/live.js keeps it live: on each
// "changed" of the stream /events it fetches the page again and swaps <main>,
// keeping focus, scrolling and open details.
//
// Facts come in as queue.QueueView and queue.View, the present moment as an
// argument; reasons become words through Options.Words. The package reads no
// clock and keeps no state.
package web
