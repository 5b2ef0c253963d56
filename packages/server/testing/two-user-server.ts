/** A started server with a second user. */
import { execFile } from 'node:child_process'
import { request } from 'node:http'
import { promisify } from 'node:util'
import type { CompositionOverrides } from '../src/index.ts'
import { KEY, startTestServer, type TestServer } from './server.ts'
import { storeKeys } from './stored-keys.ts'

export { KEY }

export type Bench = TestServer & {
  /** Further keys: of another user, and a read-only key of the default user. */
  bob: { 'X-Session-API-Key': string }
  reader: { 'X-Session-API-Key': string }
}

export async function startBench(
  env: Record<string, string> = {},
  overrides: CompositionOverrides = {},
): Promise<Bench> {
  const server = await startTestServer(env, overrides)
  const made = await storeKeys(server.dir.file('data'), ['bob', 'user'], ['default', 'read-only'])
  const [bob, reader] = made.map((key) => ({ 'X-Session-API-Key': key }))
  return Object.assign(server, { bob: bob!, reader: reader! })
}

const run = promisify(execFile)

/** Runs git in a directory, with a test identity. */
export async function git(cwd: string, ...args: string[]): Promise<string> {
  const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', '-c', 'init.defaultBranch=main']
  const env = { PATH: process.env['PATH'] ?? '', GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' }
  return (await run('git', [...who, ...args], { cwd, env })).stdout.trim()
}

/** Sends a request with an unchanged path; `fetch` would resolve `..`. */
export async function raw(
  url: string,
  path: string,
  headers: Record<string, string>,
): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(url)
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>()
  const call = request({ hostname, port, path, headers }, (answer) => {
    const chunks: Buffer[] = []
    answer.on('data', (chunk: Buffer) => chunks.push(chunk))
    answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() }))
  })
  call.on('error', reject)
  call.end()
  return promise
}
