import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { BuildOptions, Plugin } from 'rolldown'
import { directBuiltins } from './scripts/bundle/direct-builtins.ts'
import { fastRoutes } from './scripts/bundle/fast-routes.ts'
import { lazyMembers } from './scripts/bundle/lazy-members.ts'

const root = fileURLToPath(new URL('.', import.meta.url))
const virtual = 'parley:command-line'

/**
 * The module that `dist/parley.js` loads: the command line without side effects. If its last line, which awaits the command, were
 * part of a chunk, every lazily loaded chunk that shares code with it would wait for it for ever.
 */
const commandLine: Plugin = {
  name: 'parley-command-line',
  resolveId: (id) => (id === virtual ? id : null),
  load: (id) =>
    id === virtual
      ? `export { main } from ${JSON.stringify(`${root}packages/cli/src/main.ts`)}
         export { processIo } from ${JSON.stringify(`${root}packages/cli/src/io.ts`)}`
      : null,
}

/** Programs and threads that the bundle starts: their path in the sources, and their file in the bundle. */
export const STARTED = [
  { source: './runner/main.ts', file: 'runner.js', by: 'packages/server/src/workspace/runner-start.ts' },
  { source: './shrink-worker.ts', file: 'image-worker.js', by: 'packages/server/src/llm/images/shrinker.ts' },
]

const QUOTES = ['"', "'"]

/** Replaces their paths in the sources by those in the bundle. */
const bundledStarts: Plugin = {
  name: 'parley-bundled-starts',
  renderChunk(code, chunk) {
    const toDist = '../'.repeat(chunk.fileName.split('/').length - 1) || './'
    return STARTED.reduce(
      (text, { source, file }) => QUOTES.reduce((t, q) => t.replaceAll(q + source + q, q + toDist + file + q), text),
      code,
    )
  },
  generateBundle(_, files) {
    const chunks = Object.values(files).flatMap((file) => (file.type === 'chunk' ? [file.code] : []))
    for (const { file, by } of STARTED) {
      const isNamed = chunks.some((code) => QUOTES.some((quote) => code.includes(`/${file}${quote}`)))
      if (!isNamed) this.error(`nothing in the bundle starts ${file}; has ${by} changed?`)
    }
  },
}

/** The folder of the built web UI, as `packages/server/src/http/web-ui/web-ui.ts` names it. */
const UI_IN_SOURCES = '../../../../../dist/web'

/** Replaces it: by the folder `web` beside the bundle, or by that of the build for a bundle elsewhere. */
const bundledUi = (elsewhere?: string): Plugin => ({
  name: 'parley-bundled-ui',
  renderChunk(code, chunk) {
    const beside = `${'../'.repeat(chunk.fileName.split('/').length - 1) || './'}web`
    const place = elsewhere ?? beside
    return QUOTES.reduce((text, quote) => text.replaceAll(quote + UI_IN_SOURCES + quote, quote + place + quote), code)
  },
  generateBundle(_, files) {
    const chunks = Object.values(files).flatMap((file) => (file.type === 'chunk' ? [file.code] : []))
    const isNamed = chunks.some((code) => QUOTES.some((quote) => code.includes(`/web${quote}, import.meta.url`)))
    if (!isNamed) this.error('nothing in the bundle names the folder of the web UI; has BUILT_UI changed?')
  },
})

/** What the id of a build depends on: all that runs on the server and in the page, committed or not. */
const BUILT_FROM = ['package-lock.json', 'rolldown.config.ts', 'packages/*/src/**/*', 'packages/web/*.{html,ts}']

/** Digest of the sources, without tests. */
function buildId(): string {
  const files = globSync(BUILT_FROM, { cwd: root, withFileTypes: true })
    .filter((file) => file.isFile() && !/\.(?:test|testing)\.tsx?$/.test(file.name))
    .map((file) => `${file.parentPath}/${file.name}`)
    .toSorted()
  const hash = createHash('sha256')
  for (const file of files) {
    const text = readFileSync(file)
    hash.update(`${file.slice(root.length)}:${text.length}:`).update(text)
  }
  return hash.digest('hex').slice(0, 12)
}

/** Writes the id of the build into `packages/server/src/lib/build.ts`. */
const identified: Plugin = {
  name: 'parley-build-id',
  transform(code, id) {
    if (!id.endsWith('/packages/server/src/lib/build.ts')) return null
    return code.replace("'sources'", JSON.stringify(buildId()))
  },
  generateBundle(_, files) {
    const chunks = Object.values(files).flatMap((file) => (file.type === 'chunk' ? [file.code] : []))
    if (!chunks.some((code) => /\bBUILD = "[0-9a-f]{12}"/.test(code)))
      this.error('nothing in the bundle has the id of the build; has lib/build.ts changed?')
  },
}

const later = 'parley:later:'

/**
 * Keeps parts that an idle server never uses out of Fastify and ws: TLS and HTTP/2 of the runtime load on first use;
 * validators, serializers and the test client of the framework are left out, because `web.ts` passes its own
 * compilers.
 */
const edgeWithoutUnused: Plugin = {
  name: 'parley-edge-without-unused',
  resolveId(id, importer) {
    if (!/[\\/]node_modules[\\/](fastify|ws)[\\/]/.test(importer ?? '')) return null
    if (/^(node:)?(https|http2|tls)$/.test(id)) return later + id.replace('node:', '')
    return UNUSED.has(id) ? later + id : null
  },
  load(id) {
    if (!id.startsWith(later)) return null
    const name = id.slice(later.length)
    if (UNUSED.has(name))
      return `module.exports = () => { throw new Error(${JSON.stringify(`${name} is not built in`)}) }`
    return `module.exports = new Proxy({}, { get: (_, name) => process.getBuiltinModule(${JSON.stringify(name)})[name] })`
  },
}

const UNUSED = new Set(['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler', 'light-my-request'])

const shared = {
  cwd: root,
  platform: 'node',
  // The first three find files beside themselves. The others are optional parts of ws and pg.
  external: [
    '@lydell/node-pty',
    'playwright-core',
    '@silvia-odwyer/photon-node',
    'bufferutil',
    'utf-8-validate',
    'pg-native',
    'pg-cloudflare',
  ],
} satisfies BuildOptions

/**
 * Output options. V8 keeps the source of every loaded file in memory, with two bytes for each character as soon as one
 * character of the file is not Latin-1. Therefore only licence comments are kept, and characters beyond ASCII become escapes. Names
 * and lines are kept for readable stack traces.
 */
const written = {
  format: 'esm',
  comments: { legal: true, annotation: false, jsdoc: false },
  minify: { compress: false, mangle: false, codegen: { removeWhitespace: false, asciiOnly: true } },
} satisfies BuildOptions['output']

const serverPlugins = [bundledStarts, edgeWithoutUnused, fastRoutes, lazyMembers, directBuiltins]

/** The command line and the server; parts that are loaded later are separate chunks. */
export const commandLineBundle = {
  ...shared,
  input: { main: virtual },
  plugins: [commandLine, identified, bundledUi(), ...serverPlugins],
  output: { ...written, dir: 'dist', entryFileNames: '[name].js', chunkFileNames: 'chunks/[name]-[hash].js' },
} satisfies BuildOptions

/** The runner is one file, because it outlives the server and must not need a chunk that a later build has replaced. */
export const runnerBundle = {
  ...shared,
  input: { runner: 'packages/server/src/workspace/runner/main.ts' },
  output: { ...written, dir: 'dist', entryFileNames: '[name].js', codeSplitting: false },
} satisfies BuildOptions

/** The thread that makes images smaller; one file, for the same reason. */
export const imageWorkerBundle = {
  ...shared,
  input: { 'image-worker': 'packages/server/src/llm/images/shrink-worker.ts' },
  output: { ...written, dir: 'dist', entryFileNames: '[name].js', codeSplitting: false },
} satisfies BuildOptions

/** The server that tests start and kill, with what it starts. */
export const testServerBundles = (dir: string): BuildOptions[] => [
  {
    ...shared,
    input: { 'crashing-server': 'packages/server/testing/crashing-server.ts' },
    plugins: [bundledUi(new URL('dist/web', import.meta.url).href), ...serverPlugins],
    output: { ...commandLineBundle.output, dir },
  },
  { ...runnerBundle, output: { ...runnerBundle.output, dir } },
  { ...imageWorkerBundle, output: { ...imageWorkerBundle.output, dir } },
]

export default [commandLineBundle, runnerBundle, imageWorkerBundle]
