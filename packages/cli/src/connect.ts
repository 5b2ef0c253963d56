/** Chooses the server and the key of a command. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ParleyClient } from '@parley/client'
import type { Flags } from './args.ts'
import type { Io } from './io.ts'

export const CONNECT_FLAGS = {
  url: { type: 'string', value: 'URL', about: 'the server; default PARLEY_URL, else the one running on this machine' },
  key: { type: 'string', value: 'KEY', about: 'the key; default PARLEY_API_KEY, else the first key of this machine' },
  'data-dir': { type: 'string', value: 'DIR', about: 'data directory of the server on this machine' },
  config: { type: 'string', value: 'FILE', about: 'configuration file of the server on this machine' },
} as const satisfies Flags

export type ConnectFlags = { [K in keyof typeof CONNECT_FLAGS]?: string }
export type Target = { baseUrl: string; apiKey: string | undefined }

/** No server runs with the data directory, and none is named. */
export class NoServerError extends Error {}

/** Returns a client of the server named by flags, environment or the data directory. */
export async function connect(flags: ConnectFlags, io: Io): Promise<ParleyClient> {
  return new ParleyClient(await findTarget(flags, io))
}

/**
 * Order: flags, `PARLEY_URL` and `PARLEY_API_KEY`, then the file that a local server has written into its data directory.
 * A key found on this machine is never sent to another address.
 * @throws NoServerError without a server; its message says how to name one.
 */
export async function findTarget(flags: ConnectFlags, io: Pick<Io, 'env' | 'cwd' | 'home'>): Promise<Target> {
  const named = flags.url ?? nonEmpty(io.env['PARLEY_URL'])
  const key = flags.key ?? nonEmpty(io.env['PARLEY_API_KEY'])
  if (named !== undefined && key !== undefined) return { baseUrl: httpUrl(named), apiKey: key }
  const { readConfig, readFirstKey } = await import('@parley/server')
  const { config } = readConfig({ flags, env: io.env, cwd: io.cwd, home: io.home })
  const local = await runningServer(config.dataDir)
  if (named === undefined && local === null) {
    throw new NoServerError(
      `no server is running with the data directory ${config.dataDir}; start one with "parley serve", or name one with --url`,
    )
  }
  const baseUrl = named === undefined ? local!.url : httpUrl(named)
  const isLocal = local !== null && new URL(local.url).origin === new URL(baseUrl).origin
  if (key !== undefined || !isLocal) return { baseUrl, apiKey: key }
  return { baseUrl, apiKey: config.sessionApiKeys[0] ?? (await readFirstKey(config.dataDir)) ?? undefined }
}

/** The listening server that has written `server.json` into this data directory; null without one. */
export async function runningServer(dataDir: string): Promise<{ url: string; pid: number } | null> {
  const text = await textOf(join(dataDir, 'server.json'))
  if (text === undefined) return null
  const { url, pid } = JSON.parse(text) as { url: string | null; pid: number }
  return url !== null && isRunning(pid) ? { url, pid } : null
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function httpUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw new Error(`"${text}" is no address of a server; write it like http://127.0.0.1:8000`)
  }
  return text
}

const nonEmpty = (text: string | undefined): string | undefined => (text === '' ? undefined : text)
