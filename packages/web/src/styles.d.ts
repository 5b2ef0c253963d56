/** A style sheet; importing it adds it to the page. */
declare module '*.css'
