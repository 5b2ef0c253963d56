/**
 * Builds the bundle: parley.js (the small entry), main.js with its chunks, runner.js, image-worker.js, and the web UI in web/. Writes to `dist/`, or to
 * the folder given as the only argument. A server that runs from the folder is not disturbed.
 */
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
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'
import { commandLineBundle, imageWorkerBundle, runnerBundle } from '../rolldown.config.ts'
import { webFiles } from './web-files.ts'

const dist =
  process.argv[2] === undefined ? fileURLToPath(new URL('../dist', import.meta.url)) : resolve(process.argv[2])
const began = new Date()

/** Replaces a file atomically: a start at this moment reads the old file or the new one. */
function place(name, text) {
  const file = join(dist, name)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(`${file}.${process.pid}`, text)
  renameSync(`${file}.${process.pid}`, file)
}

/** Removes chunks of earlier builds. They stay for a day, because a server or a page of an earlier build may still load one. */
function removeOldFiles(folder, names) {
  const current = new Set(names)
  for (const name of readdirSync(folder)) {
    const file = join(folder, name)
    if (!current.has(name) && began - statSync(file).mtimeMs > 24 * 3600_000) rmSync(file, { recursive: true })
  }
}

/** Names of the files in a folder, without the folder. */
const namesIn = (folder, all) => all.flatMap(({ name }) => (name.startsWith(folder) ? [name.slice(folder.length)] : []))

const [web, ...bundles] = await Promise.all([
  webFiles(),
  ...[commandLineBundle, runnerBundle, imageWorkerBundle].map((options) => build({ ...options, write: false })),
])
const files = bundles
  .flatMap(({ output }) => output)
  .map((file) => ({ name: file.fileName, text: file.code ?? file.source }))
// Chunks are written first, so that a new file never imports one that does not exist yet.
const chunks = files.filter(({ name }) => name.startsWith('chunks/'))
for (const { name, text } of [...chunks, ...files.filter((file) => !chunks.includes(file))]) place(name, text)
for (const { name, bytes } of web) place(join('web', name), bytes)
place('parley.js', readFileSync(new URL('entry.js', import.meta.url), 'utf8'))
chmodSync(join(dist, 'parley.js'), 0o755)
// scripts/bootstrap.cjs compares this date with those of the sources.
utimesSync(join(dist, 'parley.js'), began, began)
if (chunks.length > 0) removeOldFiles(join(dist, 'chunks'), namesIn('chunks/', chunks))
removeOldFiles(join(dist, 'web', 'assets'), namesIn('assets/', web))

const wide = files.filter(({ text }) => typeof text === 'string' && /[^\0-\xff]/.test(text)).map(({ name }) => name)
if (wide.length > 0) console.warn(`not Latin-1, so twice as large in memory: ${wide.join(', ')}`)
const bytes = [...files.map(({ text }) => Buffer.byteLength(text)), ...web.map((file) => file.bytes.length)].reduce(
  (a, b) => a + b,
)
console.log(
  `built ${files.length + web.length} files, ${Math.round(bytes / 1024)} KiB, in ${Date.now() - began.getTime()} ms`,
)
