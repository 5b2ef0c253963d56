/** Git server over HTTP for tests: open, with a password, or silent. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { tempDir } from './temp.ts'

const run = promisify(execFile)

/** `silent` accepts connections and never answers. */
export type GitServerMode = 'open' | 'private' | 'silent'

export type GitRequest = { path: string; user: string | null; password: string | null; status: number | null }

export interface GitServer extends AsyncDisposable {
  /** Without a trailing slash. */
  readonly url: string
  readonly host: string
  mode: GitServerMode
  /** Closes all connections, so that requests without an answer fail. */
  hangUp(): void
  /** Called with each request that is answered, before its answer; the process that sent the request waits. */
  beforeAnswer: () => Promise<unknown>
  /** Password in the mode `private`; the user name is ignored. */
  password: string
  /** In the order of arrival. */
  readonly requests: readonly GitRequest[]
  /** Creates a repository with one commit of these files on `main`, and one more commit per further branch. */
  add(name: string, options?: { files?: Record<string, string>; branches?: readonly string[] }): Promise<void>
  /** Creates a repository without a commit. */
  addEmpty(name: string): Promise<void>
  /** Runs git inside the served repository and returns its standard output. */
  git(name: string, ...args: string[]): Promise<string>
}

const ENV = {
  PATH: process.env['PATH'],
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'Somebody',
  GIT_AUTHOR_EMAIL: 'somebody@example.org',
  GIT_COMMITTER_NAME: 'Somebody',
  GIT_COMMITTER_EMAIL: 'somebody@example.org',
}

/** Starts on a free port of 127.0.0.1. Disposal closes open connections and removes the repositories. */
export async function startGitServer(): Promise<GitServer> {
  const dir = await tempDir()
  const requests: GitRequest[] = []
  const http = createServer((request, response) => {
    const { user, password } = credentialOf(request)
    const seen: GitRequest = { path: request.url ?? '/', user, password, status: null }
    requests.push(seen)
    if (server.mode === 'silent') return
    response.once('finish', () => (seen.status = response.statusCode))
    if (server.mode === 'private' && password !== server.password) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
      return
    }
    void server.beforeAnswer().then(() => serve(dir.path, request, response))
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const host = `127.0.0.1:${(http.address() as AddressInfo).port}`
  const bare = (name: string) => dir.file('served', `${name}.git`)
  const server: GitServer = {
    url: `http://${host}`,
    host,
    mode: 'open',
    hangUp: () => http.closeAllConnections(),
    beforeAnswer: () => Promise.resolve(),
    password: 'not set',
    requests,
    async add(name, { files = { 'README.md': 'Hello.\n' }, branches = [] } = {}) {
      const work = dir.file('work', name)
      await mkdir(work, { recursive: true })
      const git = (...args: string[]) => run('git', args, { cwd: work, env: ENV })
      await git('init', '--quiet', '--initial-branch=main')
      for (const [path, text] of Object.entries(files)) {
        await mkdir(dirname(join(work, path)), { recursive: true })
        await writeFile(join(work, path), text)
      }
      await git('add', '--all')
      await git('commit', '--quiet', '--message=first')
      for (const branch of branches) {
        await git('switch', '--quiet', '--create', branch, 'main')
        await writeFile(join(work, 'branch.txt'), `${branch}\n`)
        await git('add', '--all')
        await git('commit', '--quiet', `--message=on ${branch}`)
      }
      await git('switch', '--quiet', 'main')
      await git('clone', '--quiet', '--bare', work, bare(name))
    },
    async addEmpty(name) {
      await run('git', ['init', '--quiet', '--bare', '--initial-branch=main', bare(name)], { env: ENV })
    },
    async git(name, ...args) {
      return (await run('git', args, { cwd: bare(name), env: ENV })).stdout
    },
    async [Symbol.asyncDispose]() {
      http.closeAllConnections()
      http.close()
      await once(http, 'close')
      await dir[Symbol.asyncDispose]()
    },
  }
  return server
}

function credentialOf({ headers }: IncomingMessage): { user: string | null; password: string | null } {
  const encoded = /^Basic (.+)$/.exec(headers.authorization ?? '')?.[1]
  if (encoded === undefined) return { user: null, password: null }
  const [user = '', ...password] = Buffer.from(encoded, 'base64').toString().split(':')
  return { user, password: password.join(':') }
}

/** Answers one request through git's own CGI program. */
function serve(root: string, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, search } = new URL(request.url ?? '/', 'http://git')
  const header = (name: string) => String(request.headers[name] ?? '')
  const child = spawn('git', ['http-backend'], {
    env: {
      ...ENV,
      GIT_PROJECT_ROOT: join(root, 'served'),
      GIT_HTTP_EXPORT_ALL: '1',
      REQUEST_METHOD: request.method,
      PATH_INFO: decodeURIComponent(pathname),
      QUERY_STRING: search.slice(1),
      CONTENT_TYPE: header('content-type'),
      HTTP_CONTENT_ENCODING: header('content-encoding'),
      GIT_PROTOCOL: header('git-protocol'),
      // Name of the pushing user; without one, http-backend refuses every push.
      REMOTE_USER: 'somebody',
      REMOTE_ADDR: '127.0.0.1',
      ...(request.headers['content-length'] === undefined ? {} : { CONTENT_LENGTH: header('content-length') }),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  child.stdin.on('error', () => undefined)
  request.pipe(child.stdin)
  let head = Buffer.alloc(0)
  child.stdout.on('data', (data: Buffer) => {
    if (response.headersSent) return void response.write(data)
    head = Buffer.concat([head, data])
    const end = head.indexOf('\r\n\r\n')
    if (end === -1) return
    const lines = head.subarray(0, end).toString().split('\r\n')
    const headers = lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()])
    const status = headers.find(([name]) => name === 'Status')?.[1]
    response.writeHead(
      status === undefined ? 200 : Number.parseInt(status, 10),
      headers.filter(([name]) => name !== 'Status').flat() as string[],
    )
    response.write(head.subarray(end + 4))
  })
  child.stdout.once('end', () => response.end())
}
