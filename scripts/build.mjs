/** Builds `dist/`: parley.js (the tiny entry), main.js and its chunks, runner.js. Safe beside a server that runs from it. */
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'
import { commandLineBundle, runnerBundle } from '../rolldown.config.ts'

const dist = fileURLToPath(new URL('../dist', import.meta.url))
const began = new Date()

/** Whole or not at all: a start at this moment reads the old file or the new one. */
function place(name, text) {
  const file = join(dist, name)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(`${file}.${process.pid}`, text)
  renameSync(`${file}.${process.pid}`, file)
}

/** A server that was started from an earlier build may still load one of its chunks, so they stay for a day. */
function forgetOldFiles(folder, current) {
  for (const name of readdirSync(folder)) {
    const file = join(folder, name)
    if (!current.has(name) && began - statSync(file).mtimeMs > 24 * 3600_000) rmSync(file, { recursive: true })
  }
}

const bundles = await Promise.all(
  [commandLineBundle, runnerBundle].map((options) => build({ ...options, write: false })),
)
const files = bundles
  .flatMap(({ output }) => output)
  .map((file) => ({ name: file.fileName, text: file.code ?? file.source }))
// What others load goes first, so that a new file never names one that is not there yet.
const chunks = files.filter(({ name }) => name.startsWith('chunks/'))
for (const { name, text } of [...chunks, ...files.filter((file) => !chunks.includes(file))]) place(name, text)
place('parley.js', readFileSync(new URL('entry.js', import.meta.url), 'utf8'))
chmodSync(join(dist, 'parley.js'), 0o755)
// Its date says which sources are in it; see scripts/bootstrap.cjs.
utimesSync(join(dist, 'parley.js'), began, began)
if (chunks.length > 0)
  forgetOldFiles(join(dist, 'chunks'), new Set(chunks.map(({ name }) => name.slice('chunks/'.length))))

const wide = files.filter(({ text }) => typeof text === 'string' && /[^\0-\xff]/.test(text)).map(({ name }) => name)
if (wide.length > 0) console.warn(`not Latin-1, so twice as large in memory: ${wide.join(', ')}`)
const bytes = files.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
console.log(`built ${files.length} files, ${Math.round(bytes / 1024)} KiB, in ${Date.now() - began.getTime()} ms`)
