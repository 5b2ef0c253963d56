/** Files of the server's machine. Source: agent-server-wire.md 1.8. */
import { Readable } from 'node:stream'
import {
  archiveDirectory,
  createDirectory,
  downloadFile,
  fileHome,
  searchSubdirectories,
  uploadFile,
} from '@parley/protocol'
import type { Log } from '../../observability/index.ts'
import type { Quotas } from '../../quotas/index.ts'
import {
  type ArchiveFacts,
  type Hosts,
  homeLocations,
  makeDirectory,
  openArchive,
  openFile,
  pageOfSubdirectories,
  receiveFile,
} from '../../workspace/index.ts'
import { expectWriter } from '../core/auth.ts'
import { boundaryOf, partOf } from '../input/multipart.ts'
import { ok, route } from '../core/route.ts'
import { attachment, sendFile, sendStream } from '../core/send-file.ts'
import { InvalidInput } from '../input/validation.ts'
import type { Route } from '../core/web.ts'

const SUCCESS = { success: true }

export type FileDeps = {
  hosts: Hosts
  quotas: Pick<Quotas, 'uploads'>
  log: Log
  /** Records activity, for the idle time of the server. */
  touch: () => void
}

export function fileRoutes({ hosts, quotas, log, touch }: FileDeps): Route[] {
  return [
    route(uploadFile, async ({ query, stream, contentType }, { user }) => {
      touch()
      const boundary = boundaryOf(contentType)
      const file = stream === undefined || boundary === null ? null : await partOf(stream, boundary, 'file')
      if (file === null) throw missingFile()
      try {
        await receiveFile(hosts.files(user), query.path, quotas.uploads.counted(user, file.bytes))
      } finally {
        file.discard()
      }
      return ok(uploadFile, SUCCESS)
    }),
    route(downloadFile, async ({ query }, actor) => {
      expectWriter(actor)
      touch()
      const file = await openFile(hosts.files(actor.user), query.path)
      return sendFile(file, { 'content-type': 'application/octet-stream', ...attachment(file.name) }, log)
    }),
    route(createDirectory, async ({ query }, { user }) => {
      touch()
      await makeDirectory(hosts.roots(user), query.path)
      return ok(createDirectory, SUCCESS)
    }),
    route(fileHome, async ({ query }, actor) => {
      expectWriter(actor)
      return ok(fileHome, await homeLocations(hosts.roots(actor.user), query.include_hidden))
    }),
    route(searchSubdirectories, async ({ query: { path, page_id, limit, include_hidden } }, actor) => {
      expectWriter(actor)
      const wanted = { from: page_id, limit, includeHidden: include_hidden }
      return ok(searchSubdirectories, await pageOfSubdirectories(hosts.roots(actor.user), path, wanted))
    }),
    route(archiveDirectory, async ({ query, callerSignal }, actor) => {
      expectWriter(actor)
      touch()
      const { path, format, base_ref, use_default_excludes, exclude } = query
      const request = { path, format, baseRef: base_ref, useDefaultExcludes: use_default_excludes, exclude }
      const archive = await openArchive(await hosts.of(actor.user), request, callerSignal())
      const type = format === 'tar.gz' ? 'application/gzip' : 'text/x-patch'
      const headers = { 'content-type': type, ...attachment(archive.name), ...headersOf(archive.facts) }
      return sendStream(
        () => Readable.from(archive.bytes, { objectMode: false }),
        headers,
        () => archive[Symbol.asyncDispose](),
        log,
      )
    }),
  ]
}

const missingFile = () =>
  new InvalidInput([{ type: 'missing', loc: ['body', 'file'], msg: 'Field required', input: null }])

const HEADERS: Readonly<Record<keyof ArchiveFacts, string>> = {
  repoRoot: 'x-archive-repo-root',
  repoRemote: 'x-archive-repo-remote',
  branch: 'x-archive-branch',
  headCommit: 'x-archive-head-commit',
  baseCommit: 'x-archive-base-commit',
  baseRef: 'x-archive-base-ref',
}

/** Values are percent-encoded, with all but letters, digits and `-._~`. */
function headersOf(facts: ArchiveFacts): Record<string, string> {
  const entries = Object.entries(facts) as [keyof ArchiveFacts, string][]
  return Object.fromEntries(
    entries.map(([fact, value]) => [
      HEADERS[fact],
      encodeURIComponent(value.toWellFormed()).replaceAll(/[!'()*]/g, hex),
    ]),
  )
}

const hex = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`
