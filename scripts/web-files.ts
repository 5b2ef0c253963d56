/** Builds the web UI in memory: the page, its assets and their compressed forms. */
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { build } from 'vite'

const configFile = fileURLToPath(new URL('../packages/web/vite.config.ts', import.meta.url))
const toGzip = promisify(gzip)
const toBrotli = promisify(brotliCompress)

/** A file of the built UI: its path below `dist/web/`, and its content. */
export type WebFile = { readonly name: string; readonly bytes: Buffer }

/** Files below this size do not become smaller. */
const SMALLEST_BYTES = 400

/**
 * Resolves to the files of `dist/web/`, each with its path and bytes, assets before the page that names them. An asset has `.br` and `.gz`
 * beside it.
 */
export async function webFiles(): Promise<WebFile[]> {
  const built = await inProduction(() => build({ configFile, logLevel: 'warn', build: { write: false } }))
  // One configuration gives one result, and nothing is watched.
  const { output } = built as Extract<typeof built, { output: unknown }>
  const files = output.map((file) => {
    const content = file.type === 'chunk' ? file.code : file.source
    return { name: file.fileName, bytes: Buffer.from(content) }
  })
  const compressed = await Promise.all(files.filter(isCompressible).map(compress))
  const isPage = ({ name }: WebFile): boolean => !name.startsWith('assets/')
  return [...compressed.flat(), ...files.filter((file) => !isPage(file)), ...files.filter(isPage)]
}

/** The build takes the form of its libraries from the environment, which names another one in a run of tests. */
async function inProduction<T>(work: () => Promise<T>): Promise<T> {
  const before = process.env['NODE_ENV']
  process.env['NODE_ENV'] = 'production'
  try {
    return await work()
  } finally {
    if (before === undefined) delete process.env['NODE_ENV']
    else process.env['NODE_ENV'] = before
  }
}

const isCompressible = ({ name, bytes }: WebFile): boolean =>
  /^assets\/.*\.(js|css|svg)$/.test(name) && bytes.length > SMALLEST_BYTES

async function compress({ name, bytes }: WebFile): Promise<WebFile[]> {
  const [br, gz] = await Promise.all([
    toBrotli(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
    toGzip(bytes, { level: 9 }),
  ])
  return [
    { name: `${name}.br`, bytes: br },
    { name: `${name}.gz`, bytes: gz },
  ]
}
