/** Work in real projects with the default sandbox, against registries on this machine, and what stays hidden. Needs bubblewrap. */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findBubblewrap, type Workspace } from '../../packages/server/src/workspace/index.ts'
import {
  never,
  openTestWorkspaces,
  type TestWorkspaces,
} from '../../packages/server/src/workspace/workspace.testing.ts'
import { tempDir, type TempDir } from '../../packages/server/testing/temp.ts'

const found = await findBubblewrap()
const runs = (program: string, ...args: string[]) => spawnSync(program, args, { stdio: 'ignore' }).status === 0
const HAS_VENV = runs('python3', '-c', 'import ensurepip, venv')
const HAS_CARGO = runs('cargo', '--version')
const HAS_NPM = runs('npm', '--version')

/** Makes a wheel `greet` with one module. */
const WHEEL = `import sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w') as wheel:
  wheel.writestr('greet.py', 'HELLO = "from a wheel"')
  wheel.writestr('greet-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: greet\\nVersion: 1.0\\n')
  wheel.writestr('greet-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
  wheel.writestr('greet-1.0.dist-info/RECORD', 'greet.py,,\\ngreet-1.0.dist-info/METADATA,,\\ngreet-1.0.dist-info/WHEEL,,\\ngreet-1.0.dist-info/RECORD,,\\n')
`

/** A registry of npm and an index of Python packages with one package each. */
async function startRegistry(dir: TempDir): Promise<{ server: Server; port: number }> {
  mkdirSync(dir.file('npm', 'package'), { recursive: true })
  writeFileSync(dir.file('npm', 'package', 'package.json'), '{"name": "greet", "version": "1.0.0", "main": "index.js"}')
  writeFileSync(dir.file('npm', 'package', 'index.js'), 'module.exports = "from a registry"')
  execFileSync('tar', ['-czf', dir.file('greet.tgz'), '-C', dir.file('npm'), 'package'])
  if (HAS_VENV) execFileSync('python3', ['-c', WHEEL, dir.file('greet-1.0-py3-none-any.whl')])
  const tarball = readFileSync(dir.file('greet.tgz'))
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
  const server = createServer((request, response) => {
    const base = `http://${request.headers.host}`
    const version = { name: 'greet', version: '1.0.0', dist: { tarball: `${base}/greet.tgz`, integrity } }
    if (request.url === '/greet') {
      response.setHeader('Content-Type', 'application/json')
      return response.end(
        JSON.stringify({ name: 'greet', 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': version } }),
      )
    }
    if (request.url === '/greet.tgz') return response.end(tarball)
    if (request.url === '/simple/greet/') {
      response.setHeader('Content-Type', 'text/html')
      return response.end('<a href="/greet-1.0-py3-none-any.whl">greet-1.0-py3-none-any.whl</a>')
    }
    if (request.url === '/greet-1.0-py3-none-any.whl') return response.end(readFileSync(dir.file(request.url)))
    return response.writeHead(404).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, port: (server.address() as AddressInfo).port }
}

describe.skipIf('reason' in found).each(['auto', 'required'] as const)('projects in the sandbox %s', (mode) => {
  let dir: TempDir
  let registry: Awaited<ReturnType<typeof startRegistry>>
  let here: TestWorkspaces
  beforeAll(async () => {
    dir = await tempDir()
    registry = await startRegistry(dir)
    writeFileSync(dir.file('parley.json'), '{"secret_key": "of the configuration"}')
    here = await openTestWorkspaces({ sandbox: { mode, network: true, hidden: [dir.file('parley.json')] } })
  })
  afterAll(async () => {
    await here[Symbol.asyncDispose]()
    registry.server.close()
    await dir[Symbol.asyncDispose]()
  })

  const sh = async (workspace: Workspace, script: string) => {
    const { exit_code, stdout, stderr } = await workspace.exec({ argv: ['sh', '-c', script], timeoutMs: 60_000 }, never)
    return { code: exit_code, text: stdout, errors: stderr }
  }
  const npm = () =>
    `npm init -y >/dev/null && npm install --no-audit --no-fund --registry http://127.0.0.1:${registry.port}/ greet >/dev/null && node -p 'require("greet")'`

  // Both modes isolate equally, so projects are built in one of them.
  if (mode === 'auto') {
    test.skipIf(!HAS_NPM)(
      `npm install works with the network on, and with the registry in a list (${mode})`,
      async () => {
        expect(await sh(await here.open('npm'), npm())).toMatchObject({ code: 0, text: 'from a registry\n' })
        const listed = here.another({ sandbox: { mode, network: [`127.0.0.1:${registry.port}`] } })
        expect(await sh(await here.open('npm-listed', 1, listed), npm())).toMatchObject({
          code: 0,
          text: 'from a registry\n',
        })
        const other = here.another({ sandbox: { mode, network: ['registry.test'] } })
        const fast = npm().replace('npm install', 'npm install --fetch-retries=0')
        expect((await sh(await here.open('npm-other', 1, other), fast)).code).not.toBe(0)
      },
    )

    test.skipIf(!HAS_VENV)(`a virtual environment of Python installs packages (${mode})`, async () => {
      const install = `python3 -m venv .venv && . .venv/bin/activate && pip install -q --disable-pip-version-check --index-url http://127.0.0.1:${registry.port}/simple/ greet && python -c 'import greet; print(greet.HELLO)'`
      expect(await sh(await here.open('pip'), install)).toMatchObject({ code: 0, text: 'from a wheel\n' })
    })

    test.skipIf(!HAS_CARGO)(`cargo builds a project without dependencies (${mode})`, async () => {
      const build = 'cargo init -q --name made . && cargo build -q && ./target/debug/made'
      expect(await sh(await here.open('cargo'), build)).toMatchObject({ code: 0, text: 'Hello, world!\n' })
    })
  }

  test(`what the sandbox hides cannot be read by a command or a file tool (${mode})`, async () => {
    const workspace = await here.open('reads')
    const other = await here.open('other')
    await other.writeFile('theirs', Buffer.from('of another conversation'), never)
    writeFileSync(join(here.dataDir, 'secret-key'), 'of the server')
    const places = [
      dir.file('parley.json'),
      join(here.dataDir, 'secret-key'),
      join(other.workingDir, 'theirs'),
      join(here.dataDir, 'runner', 'boxes'),
      '/etc/shadow',
      '/etc/ssl/private',
      '/etc/sudoers',
      join(homedir(), '.gitconfig'),
      join(homedir(), '.ssh'),
      '/run/docker.sock',
      '/var/run/docker.sock',
      '/var/log',
      '/srv',
    ]
    for (const path of places) {
      expect([path, (await sh(workspace, `cat '${path}' || ls -d '${path}'`)).code]).not.toEqual([path, 0])
      if (existsSync(path)) await expect(workspace.list(path, never)).rejects.toMatchObject({ code: 'forbidden' })
    }
    expect((await sh(workspace, 'cat /proc/*/environ | tr "\\0" "\\n" | grep -c "^VITEST"')).text).toBe('0\n')
  })
})
