import { fileURLToPath } from 'node:url'
import type { BuildOptions, Plugin } from 'rolldown'

const root = fileURLToPath(new URL('.', import.meta.url))
const virtual = 'parley:command-line'

/**
 * What `dist/parley.js` loads: the command line as a module that does nothing by itself. Were its own last line, which
 * awaits the command, part of a chunk, every lazily loaded chunk that shares code with it would wait for it for ever.
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

const runnerSource = /(["'])\.\/runner\/main\.ts\1/g

/** Where the sources look for the runner beside themselves, the bundle looks for the bundled one. */
const bundledRunner: Plugin = {
  name: 'parley-bundled-runner',
  renderChunk(code, chunk) {
    const toDist = '../'.repeat(chunk.fileName.split('/').length - 1) || './'
    return code.replace(runnerSource, JSON.stringify(`${toDist}runner.js`))
  },
  generateBundle(_, files) {
    const isNamed = Object.values(files).some(
      (file) => file.type === 'chunk' && /["'][./]*\/runner\.js["']/.test(file.code),
    )
    if (!isNamed)
      this.error('nothing in the bundle starts runner.js; has packages/server/src/workspace/runner-start.ts changed?')
  },
}

const later = 'parley:later:'

/**
 * What the two libraries of the edge ask for when they load, and a server at rest never uses: TLS and HTTP/2 of the runtime come when
 * they are touched; validators, serializers and the test client of the framework are left out, because `web.ts` gives it
 * compilers of its own.
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
  // The first two find their parts beside themselves. The others are optional accelerators of ws, which it does without.
  external: ['@lydell/node-pty', 'playwright-core', 'bufferutil', 'utf-8-validate'],
} satisfies BuildOptions

/**
 * How the files are written. The engine keeps the source of everything loaded in memory, and in two bytes for each character as
 * soon as one of a file is not Latin-1: so only licences stay of the comments, and what is beyond ASCII becomes an escape. Names and lines
 * stay, so that a stack trace can be read.
 */
const written = {
  format: 'esm',
  comments: { legal: true, annotation: false, jsdoc: false },
  minify: { compress: false, mangle: false, codegen: { removeWhitespace: false, asciiOnly: true } },
} satisfies BuildOptions['output']

/** The command line and the server; what a command needs only later stays in chunks of its own. */
export const commandLineBundle = {
  ...shared,
  input: { main: virtual },
  plugins: [commandLine, bundledRunner, edgeWithoutUnused],
  output: { ...written, dir: 'dist', entryFileNames: '[name].js', chunkFileNames: 'chunks/[name]-[hash].js' },
} satisfies BuildOptions

/** The runner is one file: it outlives the server, so it must not need a chunk that a later build has replaced. */
export const runnerBundle = {
  ...shared,
  input: { runner: 'packages/server/src/workspace/runner/main.ts' },
  output: { ...written, dir: 'dist', entryFileNames: '[name].js', codeSplitting: false },
} satisfies BuildOptions

export default [commandLineBundle, runnerBundle]
