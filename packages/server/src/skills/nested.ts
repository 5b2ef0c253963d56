/** Instruction files in subfolders of a project; each applies to the files below its folder. Source: agent-core.md 6.2. */
import { dirname, join } from 'node:path'
import type { Skill } from '@parley/protocol'
import type { Workspace } from '../workspace/index.ts'
import { plainPath, type Folder } from './folder.ts'
import { INSTRUCTION_FILES, instructionName, readInstructions, type KnownFiles } from './third-party.ts'

const LIST_LIMIT_MS = 10_000
const MAX_DEPTH = 8
const MAX_NESTED = 100
/** Folders that are walked when git does not list the files. */
const MAX_WALKED = 200
const SKIPPED = new Set(['node_modules', 'vendor'])

/** `isRepository`: git lists the files; otherwise, and when git does not answer, the folders are walked. */
export async function nestedInstructions(
  workspace: Pick<Workspace, 'exec'>,
  folder: Folder,
  { isRepository, known }: { isRepository: boolean; known: KnownFiles },
  signal: AbortSignal,
): Promise<Skill[]> {
  const listed = isRepository ? await listedByGit(workspace, folder.root, signal) : null
  const paths = listed ?? (await walked(folder))
  const nested = paths.filter((path) => path.includes('/') && !path.split('/').some((part) => part === '.git'))
  if (nested.length > MAX_NESTED) folder.note('.', `only ${MAX_NESTED} of ${nested.length} nested files were read`)
  const found: Skill[] = []
  for (const path of nested.toSorted().slice(0, MAX_NESTED)) {
    const place = plainPath(dirname(path))
    const name = `${instructionName(path.slice(path.lastIndexOf('/') + 1))}:${place}`
    const trigger = { type: 'path' as const, paths: [`${place}/**`] }
    const skill = await readInstructions(folder, { path, name }, known, trigger)
    if (skill !== null) found.push({ ...skill, disable_model_invocation: true })
  }
  return found
}

/** Tracked files, and new files that are not ignored; null when git does not answer in time. */
async function listedByGit(
  workspace: Pick<Workspace, 'exec'>,
  root: string,
  signal: AbortSignal,
): Promise<string[] | null> {
  const patterns = INSTRUCTION_FILES.map((name) => `:(icase,glob)**/${name}`)
  // Programs that the repository's own configuration names are not run.
  const argv = ['git', '-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null', 'ls-files', '-z']
  const request = {
    argv: [...argv, '--cached', '--others', '--exclude-standard', '--', ...patterns],
    cwd: root,
    env: { GIT_OPTIONAL_LOCKS: '0', LC_ALL: 'C' },
    timeoutMs: LIST_LIMIT_MS,
  }
  const result = await workspace.exec(request, signal).catch(() => null)
  signal.throwIfAborted()
  if (result === null || result.exit_code !== 0 || result.dropped.stdout > 0) return null
  return [...new Set(result.stdout.split('\0').filter(Boolean))]
}

async function walked(folder: Folder): Promise<string[]> {
  const found: string[] = []
  let looks = 0
  const look = async (path: string, depth: number): Promise<void> => {
    if (looks++ >= MAX_WALKED) return
    for (const { name, kind } of await folder.list(path)) {
      const at = path === '' ? name : join(path, name)
      if (kind === 'file' && instructionName(name) !== null) found.push(plainPath(at))
      const isHidden = name.startsWith('.') || SKIPPED.has(name)
      if (kind === 'directory' && !isHidden && depth < MAX_DEPTH && found.length < MAX_NESTED) await look(at, depth + 1)
    }
  }
  await look('', 0)
  return found
}
