/** The real server inside the test's process, with its own data directory and one key. */
import { withoutSandbox } from './sandbox-setting.ts'
import { readConfig, startServer, type CompositionOverrides } from '../src/index.ts'
import { startBalanced } from './balanced-nodes.ts'
import { canary } from './canaries/values.ts'
import { storeSettings } from './store-choice.ts'
import { tempDir, type TempDir } from './temp.ts'

export const KEY = canary('session_key')

export type TestServer = AsyncDisposable & {
  readonly url: string
  readonly dir: TempDir
  /** A JSON call with the test's key; `headers` may replace the key. */
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; body: any }>
}

/** Starts a server on a free port. Disposal stops it, ends the processes of its runner and removes its directory. */
export async function startTestServer(
  env: Record<string, string> = {},
  overrides: CompositionOverrides = {},
): Promise<TestServer> {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await tempDir())
  const dataDir = dir.file('data')
  const settings = {
    PARLEY_SESSION_API_KEYS: KEY,
    PARLEY_ALLOW_ROOT: 'true',
    PARLEY_LOG_LEVEL: 'silent',
    PARLEY_RUNNER_ORPHAN_EXIT_SECONDS: '5',
    ...(env['PARLEY_MODE'] === 'shared' ? { PARLEY_WORKSPACE_ROOTS: dir.path } : {}),
    PARLEY_USER_EGRESS: 'any',
    ...withoutSandbox(env),
    ...(await storeSettings(dataDir, env)),
    ...env,
  }
  const at = { env: settings, cwd: dir.path, home: dir.path }
  const open = (nodeDir: string) =>
    startServer(readConfig({ ...at, flags: { 'data-dir': nodeDir, port: '0' } }).config, overrides)
  const server = stack.use(await startBalanced({ dataDir, env }, open))
  const owned = stack.move()
  return {
    url: server.url,
    dir,
    async call(method, path, body, headers = {}) {
      const response = await fetch(server.url + path, {
        method,
        headers: { 'X-Session-API-Key': KEY, 'Content-Type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const text = await response.text()
      return {
        status: response.status,
        body: /json/.test(response.headers.get('content-type') ?? '') ? JSON.parse(text) : text,
      }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
