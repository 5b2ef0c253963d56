/** Folders and credential files of an external agent, outside of the workspace. Source: agent-core.md 11.12. */
import { createHash } from 'node:crypto'
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { ACPFileSecretSpec } from '@parley/protocol'
import type { Workspace } from '../../workspace/index.ts'
import type { Log } from '../gateway.ts'
import { AcpFailure } from './failure.ts'
import type { Provider } from './providers.ts'
import { misplaced } from './supported.ts'

export type DataParts = {
  provider: Provider | null
  isIsolated: boolean
  fileSecrets: readonly ACPFileSecretSpec[]
  secrets: Readonly<Record<string, string>>
}

export type DataDeps = {
  /** The conversation's folder on this machine. */
  dataDir: string
  workspace: Pick<Workspace, 'privateDir' | 'stat' | 'readFile' | 'writeFile'>
  log: Log
}

/** Makes the folders and files that the agent is to find; the variables that point at them. @throws AcpFailure `ACPInitError`. */
export async function prepareData(
  parts: DataParts,
  deps: DataDeps,
  signal: AbortSignal,
): Promise<Record<string, string>> {
  const { provider, isIsolated, fileSecrets, secrets } = parts
  const { workspace, dataDir, log } = deps
  const root = join(workspace.privateDir ?? dataDir, 'acp')
  const files = workspace.privateDir === undefined ? onThisMachine(dataDir) : insideSandbox(workspace)
  const pointers: Record<string, string> = {}
  try {
    if (isIsolated && provider !== null) {
      pointers[provider.dataVariable] = join(root, provider.key)
      await files.folder(join(root, provider.key), signal)
    }
    for (const spec of fileSecrets) {
      const value = secrets[spec.secret_name]
      if (value === undefined || value.trim() === '') continue
      const told = misplaced(spec)
      if (told !== null) throw new AcpFailure('ACPInitError', told)
      const folder = join(root, spec.subdir)
      await files.folder(folder, signal)
      await seed(files, join(folder, spec.filename), value, signal)
      pointers[spec.env_var] = spec.env_points_to === 'dir' ? folder : join(folder, spec.filename)
      const unset = spec.warn_if_unset.filter((name) => secrets[name] === undefined)
      if (unset.length > 0)
        log.warn({ secret: spec.secret_name, unset }, 'a credential usually comes with these variables')
    }
  } catch (error) {
    if (error instanceof AcpFailure || signal.aborted) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new AcpFailure('ACPInitError', `A credential file could not be written: ${reason}`, error)
  }
  return pointers
}

type Files = {
  folder(path: string, signal: AbortSignal): Promise<void>
  /** Null: nothing there, or nothing in it. */
  read(path: string, signal: AbortSignal): Promise<string | null>
  write(path: string, text: string, signal: AbortSignal): Promise<void>
}

/** The agent renews what is in the file, so that it is kept; only another secret than the one it was made from replaces it. */
async function seed(files: Files, path: string, value: string, signal: AbortSignal): Promise<void> {
  const note = join(dirname(path), `.${basename(path)}.origin`)
  const origin = createHash('sha256').update(value).digest('hex')
  const isThere = (await files.read(path, signal)) !== null
  if (isThere && (await files.read(note, signal)) === origin) return
  await files.write(path, value, signal)
  await files.write(note, origin, signal)
}

function onThisMachine(dataDir: string): Files {
  return {
    folder: async (path) => {
      await mkdir(path, { recursive: true, mode: 0o700 })
      // Also where an earlier version made it with other rights.
      for (let at = path; at !== dataDir && at !== dirname(at); at = dirname(at)) await chmod(at, 0o700)
    },
    read: async (path) => {
      const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return ''
        throw error
      })
      return text === '' ? null : text
    },
    write: async (path, text) => {
      const fresh = `${path}.${process.pid}.tmp`
      await writeFile(fresh, text, { mode: 0o600 })
      await rename(fresh, path)
    },
  }
}

/** The sandbox's own home, which nobody else can read. */
function insideSandbox(workspace: DataDeps['workspace']): Files {
  return {
    folder: async (path, signal) => {
      const kept = join(path, '.parley')
      if ((await workspace.stat(kept, signal)) === null) await workspace.writeFile(kept, Buffer.from(''), signal)
    },
    read: async (path, signal) => {
      if ((await workspace.stat(path, signal)) === null) return null
      const text = Buffer.from(await workspace.readFile(path, signal)).toString('utf8')
      return text === '' ? null : text
    },
    write: (path, text, signal) => workspace.writeFile(path, Buffer.from(text), signal),
  }
}
