/** Texts that try to run a script, to load something, or to look like something else, by the place where a page shows them. Seeded. */
import fc from 'fast-check'

/** What every script of these texts sets, and what every address of them contains. */
export const RAN = 'hostileScriptRan'
export const LOADED = 'hostile-load'

const SCRIPT = `window.${RAN}=1`
const ADDRESSES = [
  `javascript:${SCRIPT}`,
  `JaVaScRiPt:${SCRIPT}`,
  `java\tscript:${SCRIPT}`,
  `&#106;avascript:${SCRIPT}`,
  `data:text/html,<script>${SCRIPT}</script>`,
  `data:image/svg+xml,<svg onload="${SCRIPT}">`,
  `vbscript:${SCRIPT}`,
  `https://${LOADED}.example/x.png`,
  `//${LOADED}.example/x.js`,
  `/api/${LOADED}`,
  `file:///etc/${LOADED}`,
  `blob:https://${LOADED}.example/1`,
  `https://user:word@${LOADED}.example/`,
]
const ELEMENTS = (address: string) => [
  `<script>${SCRIPT}</script>`,
  `<script src="${address}"></script>`,
  `<img src=x onerror="${SCRIPT}">`,
  `<img src="${address}">`,
  `<svg onload="${SCRIPT}"><animate onbegin="${SCRIPT}" attributeName=x dur=1s>`,
  `<svg><script href="${address}"/></svg>`,
  `<iframe src="${address}" srcdoc="<script>parent.${RAN}=1</script>"></iframe>`,
  `<object data="${address}"></object><embed src="${address}">`,
  `<form action="${address}"><button autofocus onfocus="${SCRIPT}">x</button></form>`,
  `<a href="${address}">x</a><base href="https://${LOADED}.example/">`,
  `<link rel=stylesheet href="${address}"><style>@import "${address}"; * { background: url(${address}) }</style>`,
  `<meta http-equiv=refresh content="0;url=${address}">`,
  `<details open ontoggle="${SCRIPT}"><video onerror="${SCRIPT}"><source src="${address}"></video></details>`,
  `<math><mtext><table><mglyph><style><img src=x onerror="${SCRIPT}">`,
  `<template><img src=x onerror="${SCRIPT}"></template><noscript><p title="</noscript><img src=x onerror=${SCRIPT}>">`,
  `<input autofocus onfocus="${SCRIPT}" style="background:url(${address})">`,
]
const INVISIBLE = ['\u202e', '\u2066', '\u200b', '\u00ad', '\ufeff', '\u0000', '\u0007', '\r', '\u2028', '\u{e0041}']

const address = fc.constantFrom(...ADDRESSES)
const element = address.chain((to) => fc.constantFrom(...ELEMENTS(to)))
const invisible = fc.constantFrom(...INVISIBLE)
const word = fc.constantFrom('a', 'text', '`', '``', '```', '"', "'", '>', '<', '&', '\n', '\n\n', '    ', '|', '\\')
const several = (part: fc.Arbitrary<string>) =>
  fc.array(part, { minLength: 1, maxLength: 8 }).map((parts) => parts.join(''))

const markdown = several(
  fc.oneof(
    word,
    element,
    invisible,
    address.map((to) => `[x](${to})`),
    address.map((to) => `[x](<${to}> "${SCRIPT}")`),
    address.map((to) => `![x](${to})`),
    address.map((to) => `[![x](${to})](${to})`),
    address.map((to) => `<${to}>`),
    address.map((to) => `\n[r]: ${to}\n[r] ![r]\n`),
    element.map((html) => `\n\`\`\`html\n${html}\n\`\`\`\n`),
    element.map((html) => `\n\`\`\`"><img src=x onerror=${SCRIPT}>\n${html}\n`),
    element.map((html) => `\n| ${html} | b |\n|---|---|\n| ${html} | b |\n`),
    element.map((html) => `\n- [x] ${html}\n> ${html}\n# ${html}\n`),
  ),
)
const ansi = several(
  fc.oneof(
    word,
    element,
    invisible,
    address.map((to) => `\u001b]8;;${to}\u0007x\u001b]8;;\u0007`),
    address.map((to) => `\u001b]8;id=1;${to}\u001b\\x\u001b]8;;\u001b\\`),
    fc.integer({ min: 0, max: 999 }).map((code) => `\u001b[${code}m`),
    fc.constantFrom(
      '\u001b[38;2;1;2;3m',
      '\u001b[2J\u001b[H',
      '\u001b]0;title\u0007',
      '\u001bP+q\u001b\\',
      '\u001b[',
      '\u001b',
    ),
  ),
)
const lines = fc.array(several(fc.oneof(word, element, invisible)), { maxLength: 6 }).map((each) => each.join('\n'))
const path = several(fc.oneof(word, element, invisible, address, fc.constantFrom('../', '/', 'src/a.ts', '-rf'))).map(
  (text) => `/w/${text}`,
)

/** @param seed the same one gives the same texts */
const sampled = <T>(from: fc.Arbitrary<T>, numRuns: number, seed = 14): T[] => fc.sample(from, { numRuns, seed })

export type Hostile = {
  markdown: string[]
  outputs: { command: string; output: string }[]
  edits: { path: string; before: string; after: string }[]
}

/** Half of them are Markdown, a quarter outputs of commands, and a quarter changes of files. */
export const hostileTexts = (count: number): Hostile => ({
  markdown: sampled(markdown, count / 2),
  outputs: sampled(fc.record({ command: several(fc.oneof(word, element, invisible)), output: ansi }), count / 4),
  edits: sampled(fc.record({ path, before: lines, after: lines }), count / 4),
})
