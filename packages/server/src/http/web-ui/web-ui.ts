/** The web UI: one page for all of its addresses, and the assets beside it. The files are read for each request. */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, readFile } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Log } from '../../observability/index.ts'
import { contentTypeOf } from '../core/content-type.ts'
import { type Answer, NOT_FOUND } from '../core/errors.ts'
import { sendStream } from '../core/send-file.ts'
import type { Route, Streamed } from '../core/web.ts'
import { ASSET_HEADERS, PAGE_HEADERS } from './headers.ts'

/** The folder of the built UI. The bundle replaces the address by the one beside itself. */
export const BUILT_UI = fileURLToPath(new URL('../../../../../dist/web', import.meta.url))

/** Addresses that the page interprets, besides `/`. A test compares them with those of `packages/web/src/routes.ts`. */
export const PAGE_PATHS = [
  '/new',
  '/c/{conversation}',
  '/approvals',
  '/login',
  '/settings',
  '/settings/{section}',
  '/welcome',
] as const

/** Names of files that a build writes; none leaves the folder or names a hidden file. */
const ASSET_NAME = /^[\w-][\w.-]*$/
/** Compressed forms in the order of preference: the coding and the ending of the file. */
const CODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const

/** True for a browser that opens the address; programs put other types first, or accept any. */
const asksForPage = ({ accept }: IncomingHttpHeaders): boolean => /^\s*text\/html\s*(?:[;,]|$)/i.test(accept ?? '')

/**
 * The routes with the UI: its own ones, and the page at `/` for browsers; other clients get the answer that `/` has without a UI.
 * @param folder of the built UI; null: it is switched off, and the routes stay as they are
 */
export function webUiRoutes(folder: string | null, routes: readonly Route[], log: Pick<Log, 'error'>): Route[] {
  if (folder === null) return [...routes]
  const page: Route['answer'] = ({ headers }) => pageOf(folder, headers)
  const shared = (route: Route): Route => ({
    ...route,
    answer: (request) => (asksForPage(request.headers) ? page(request) : route.answer(request)),
  })
  return [
    ...routes.map((route) => (route.path === '/' ? shared(route) : route)),
    ...PAGE_PATHS.map((path): Route => ({ method: 'GET', path, isOpen: true, answer: page })),
    {
      method: 'GET',
      path: '/assets/{file_name}',
      isOpen: true,
      answer: ({ path, headers }) => assetOf(folder, path['file_name'] ?? '', headers, log),
    },
  ]
}

async function pageOf(folder: string, headers: IncomingHttpHeaders): Promise<Answer> {
  const text = await readFile(join(folder, 'index.html'), 'utf8').catch(nullIfMissing)
  if (text === null) return NOT_BUILT
  // Of the content: packages may give the files of all builds one date.
  const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`
  const sent = { ...PAGE_HEADERS, etag, vary: 'Accept, Origin' }
  return knows(headers, etag) ? { status: 304, headers: sent } : { status: 200, body: text, headers: sent }
}

const NOT_BUILT: Answer = {
  status: 503,
  body: `<!doctype html><html lang="en"><meta charset="utf-8"><title>Parley</title>
<h1>The web UI is not built</h1><p>Run <code>npm run build</code> in the folder of Parley, then load this page again. The API is available.</p></html>`,
  headers: { ...PAGE_HEADERS, 'cache-control': 'no-store', vary: 'Accept, Origin' },
}

async function assetOf(
  folder: string,
  name: string,
  headers: IncomingHttpHeaders,
  log: Pick<Log, 'error'>,
): Promise<Answer | Streamed> {
  if (!ASSET_NAME.test(name)) return NOT_FOUND
  const accepted = acceptedCodings(headers)
  const forms = [...CODINGS.filter(([coding]) => accepted.has(coding)), [null, ''] as const]
  for (const [coding, ending] of forms) {
    const file = await openFile(join(folder, 'assets', name + ending))
    if (file === null) continue
    const etag = `"${name}${ending}"`
    const sent = {
      ...ASSET_HEADERS,
      'content-type': contentTypeOf(name),
      etag,
      vary: 'Accept-Encoding, Origin',
      ...(coding !== null && { 'content-encoding': coding }),
    }
    if (knows(headers, etag)) {
      await file.handle.close()
      return { status: 304, headers: sent }
    }
    const { handle, size } = file
    const stream = () => handle.createReadStream({ autoClose: false, end: size - 1 })
    return sendStream(stream, { ...sent, 'content-length': String(size) }, () => handle.close(), log)
  }
  return NOT_FOUND
}

/** The file, open; null for one that is missing, empty or no plain file. */
async function openFile(path: string): Promise<{ handle: FileHandle; size: number } | null> {
  const handle = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)).catch(nullIfMissing)
  if (handle === null) return null
  const stats = await handle.stat()
  if (stats.isFile() && stats.size > 0) return { handle, size: stats.size }
  await handle.close()
  return null
}

function nullIfMissing(error: unknown): null {
  if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENAMETOOLONG'].includes((error as NodeJS.ErrnoException).code ?? ''))
    return null
  throw error
}

/** Codings of `Accept-Encoding` that are not refused with `q=0`. */
function acceptedCodings({ 'accept-encoding': header }: IncomingHttpHeaders): Set<string> {
  const items = String(header ?? '')
    .toLowerCase()
    .split(',')
  return new Set(
    items.flatMap((item) => {
      const [coding = '', ...parameters] = item.split(';').map((part) => part.trim())
      return parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter)) ? [] : [coding]
    }),
  )
}

const knows = ({ 'if-none-match': known }: IncomingHttpHeaders, etag: string): boolean =>
  known !== undefined && known.split(',').some((one) => one.trim().replace(/^W\//, '') === etag)
