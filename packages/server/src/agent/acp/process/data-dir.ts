/** Folders and credential files of an external agent, outside of the workspace. Source: agent-core.md 11.12. */
import { createHash } from 'node:crypto'
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { ACPFileSecretSpec } from '@parley/protocol'
import type { Workspace } from '../../../workspace/index.ts'
import type { Log } from '../../agent.ts'
import { AcpFailure } from '../failure.ts'
import type { Provider } from '../providers.ts'
import { misplacedFile } from '../supported.ts'

export type DataDirSpec = {
  provider: Provider | null
  isIsolated: boolean
  fileSecrets: readonly ACPFileSecretSpec[]
  secrets: Readonly<Record<string, string>>
}

export type DataDirDeps = {
  /** The conversation's folder on this machine. */
  dataDir: string
  workspace: Pick<Workspace, 'privateDir' | 'stat' | 'readFile' | 'writeFile'>
  log: Log
}

/** Creates the agent's folders and credential files. Returns the variables that point at them. @throws AcpFailure `ACPInitError`. */
export async function prepareDataDir(
  { provider, isIsolated, fileSecrets, secrets }: DataDirSpec,
  { workspace, dataDir, log }: DataDirDeps,
  signal: AbortSignal,
): Promise<Record<string, string>> {
  const root = join(workspace.privateDir ?? dataDir, 'acp')
  const files = workspace.privateDir === undefined ? localFiles(dataDir) : sandboxFiles(workspace)
  const pointers: Record<string, string> = {}
  try {
    if (isIsolated && provider !== null) {
      pointers[provider.dataVariable] = join(root, provider.key)
      await files.folder(join(root, provider.key), signal)
    }
    for (const spec of fileSecrets) {
      const value = secrets[spec.secret_name]
      if (value === undefined || value.trim() === '') continue
      const problem = misplacedFile(spec)
      if (problem !== null) throw new AcpFailure('ACPInitError', problem)
      const folder = join(root, spec.subdir)
      await files.folder(folder, signal)
      await writeOnce(files, join(folder, spec.filename), value, signal)
      pointers[spec.env_var] = spec.env_points_to === 'dir' ? folder : join(folder, spec.filename)
      const unset = spec.warn_if_unset.filter((name) => secrets[name] === undefined)
      if (unset.length > 0)
        log.warn({ secret: spec.secret_name, unset }, 'variables that belong to a credential file are not set')
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
  /** Null: the file does not exist or is empty. */
  read(path: string, signal: AbortSignal): Promise<string | null>
  write(path: string, text: string, signal: AbortSignal): Promise<void>
}

/** Writes a file unless it was made from the same value before: the agent renews its content, which must be kept. */
async function writeOnce(files: Files, path: string, value: string, signal: AbortSignal): Promise<void> {
  const originFile = join(dirname(path), `.${basename(path)}.origin`)
  const origin = createHash('sha256').update(value).digest('hex')
  const exists = (await files.read(path, signal)) !== null
  if (exists && (await files.read(originFile, signal)) === origin) return
  await files.write(path, value, signal)
  await files.write(originFile, origin, signal)
}

function localFiles(dataDir: string): Files {
  return {
    folder: async (path) => {
      await mkdir(path, { recursive: true, mode: 0o700 })
      // An earlier version may have created the folder with other permissions.
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
      const temporary = `${path}.${process.pid}.tmp`
      await writeFile(temporary, text, { mode: 0o600 })
      await rename(temporary, path)
    },
  }
}

/** Files in the sandbox's private home directory. */
function sandboxFiles(workspace: DataDirDeps['workspace']): Files {
  return {
    folder: async (path, signal) => {
      const marker = join(path, '.parley')
      if ((await workspace.stat(marker, signal)) === null) await workspace.writeFile(marker, Buffer.from(''), signal)
    },
    read: async (path, signal) => {
      if ((await workspace.stat(path, signal)) === null) return null
      const text = Buffer.from(await workspace.readFile(path, signal)).toString('utf8')
      return text === '' ? null : text
    },
    write: (path, text, signal) => workspace.writeFile(path, Buffer.from(text), signal),
  }
}
