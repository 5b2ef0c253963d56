/**
 * A directory as one stream of bytes: all files as a tar.gz, or the changes that git reports as a patch. Files that may contain
 * credentials are left out of both. Source: agent-server-wire.md 1.8; docs/agent-server.md, Archives.
 */
import { stat } from 'node:fs/promises'
import { basename, sep } from 'node:path'
import { pipeline } from 'node:stream'
import { createGzip } from 'node:zlib'
import { ParleyError } from '@parley/protocol'
import { absolutePath } from '../host-files.ts'
import { nullIfMissing } from '../file-errors.ts'
import { type Repository, repositoryOf } from '../git/repository.ts'
import type { Process, Workspace } from '../workspace.ts'
import { territoryAt, type Territory } from './credential-places.ts'
import { openDelta } from './delta.ts'
import { type IsExcluded, isExcludedBy } from './excludes.ts'
import { type Archive, type ArchiveFacts, factsOf, repositoryBelow } from './facts.ts'
import { outputOf } from './program.ts'
import { withLastFile } from './tar-stream.ts'
import { MANIFEST, walk, type WalkNotes } from './walk.ts'

/** The git directory, and what tools can generate again. */
export const DEFAULT_EXCLUDES = [
  '.cache/',
  '.git/',
  '.gradle/',
  '.mypy_cache/',
  '.next/',
  '.nuxt/',
  '.pytest_cache/',
  '.ruff_cache/',
  '.tox/',
  '.venv/',
  '__pycache__/',
  'build/',
  'dist/',
  'node_modules/',
  'target/',
  'venv/',
  '*.pyc',
]

export type ArchiveRequest = {
  path: string
  format: 'git-delta' | 'tar.gz'
  baseRef: string | undefined
  useDefaultExcludes: boolean
  exclude: readonly string[]
}

/**
 * Begins an archive, which is created while it is read. Disposing it ends the program that creates it. The changes of a directory without
 * a repository are those of the only repository below it.
 * @throws ParleyError `bad_request`, `not_found`.
 */
export async function openArchive(
  workspace: Workspace,
  request: ArchiveRequest,
  signal: AbortSignal,
): Promise<Archive> {
  const asked = absolutePath(request.path)
  const directory = (await workspace.directory?.(asked, ['path'])) ?? asked
  const found = await stat(directory).catch(nullIfMissing)
  if (found === null) throw new ParleyError('not_found', 'Directory not found')
  if (!found.isDirectory()) throw new ParleyError('bad_request', 'Path is not a directory')
  const territory = territoryAt(directory.split(sep))
  if (territory === null)
    throw new ParleyError('bad_request', 'This directory may contain credentials of git and is not archived')
  const excludes = [...(request.useDefaultExcludes ? DEFAULT_EXCLUDES : []), ...request.exclude]
  const isExcluded = isExcludedBy(excludes)
  const repository = await repositoryFor(workspace, directory, signal)
  if (request.format === 'tar.gz') {
    const facts = repository === null ? {} : await factsOf(repository, signal)
    return tarball(workspace, { directory, territory, excludes, isExcluded, facts }, signal)
  }
  if (repository === null) throw new ParleyError('bad_request', 'Not a git repository')
  return openDelta(workspace, repository, { directory, baseRef: request.baseRef, excludes }, signal)
}

async function repositoryFor(workspace: Workspace, directory: string, signal: AbortSignal): Promise<Repository | null> {
  const around = await repositoryOf(workspace, directory, signal)
  if (around !== null) return around
  const below = await repositoryBelow(directory)
  return below === null ? null : repositoryOf(workspace, below, signal)
}

type TarRequest = {
  directory: string
  territory: Territory
  excludes: readonly string[]
  isExcluded: IsExcluded
  facts: ArchiveFacts
}

/** The names are sent to the program while it reads the files, so that a large directory needs little memory. */
async function tarball(workspace: Workspace, request: TarRequest, signal: AbortSignal): Promise<Archive> {
  const { directory, territory, excludes, isExcluded, facts } = request
  const folder = basename(directory)
  const source = folder || 'root'
  // A name that begins with a dash is a name.
  const verbatim = process.platform === 'darwin' ? [] : ['--verbatim-files-from']
  const tar = ['tar', '-c', '-f', '-', '--null', ...verbatim, '--no-recursion', '-T', '-']
  // The directory above may be one that its programs enter and do not read, which tar itself would.
  const argv = ['sh', '-c', 'cd -P .. && exec "$@"', 'sh', ...tar]
  const program = await workspace.spawn({ argv, cwd: directory }, signal)
  const notes: WalkNotes = { omitted: 0, hasManifest: false }
  const named = sendNames(program, folder, walk(directory, territory, isExcluded, notes))
  // 1: a file changed while it was read. 2: a file could not be read, or is gone. The end mark tells whether the rest is complete.
  const output = outputOf(program, (exitCode) => exitCode === 0 || exitCode === 1 || exitCode === 2)
  const members = withLastFile(output.bytes, ({ files, bytes }) => {
    if (notes.hasManifest) return null
    const { omitted } = notes
    const manifest = { format: 'tar.gz', source, file_count: files, total_bytes: bytes, excludes, omitted }
    const name = folder === '' ? MANIFEST : `${folder}/${MANIFEST}`
    return { name, bytes: Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`) }
  })
  const gzip = createGzip()
  // A failure reaches the reader through `gzip`.
  pipeline(members, gzip, () => {})
  return {
    name: `${source}.tar.gz`,
    facts,
    bytes: gzip,
    async [Symbol.asyncDispose]() {
      gzip.destroy()
      await output[Symbol.asyncDispose]()
      await named
    },
  }
}

/** Writes the paths below the folder as the program reads them, at its pace. Ends early when the program does. */
async function sendNames({ stdin }: Process, folder: string, paths: AsyncIterable<Buffer>): Promise<void> {
  const writer = stdin.getWriter()
  const [root, below] = folder === '' ? ['.', ''] : [folder, `${folder}/`]
  try {
    for await (const path of paths)
      await writer.write(path.length === 0 ? Buffer.from(`${root}\0`) : Buffer.concat([Buffer.from(below), path, END]))
    await writer.close()
  } catch {
    await writer.abort().catch(() => undefined)
  }
}

const END = Buffer.from([0])
