/** Limits of a sandboxed command. Needs bubblewrap; without it, the tests are skipped with a line of output. */
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer, type Server } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import { release } from 'node:os'
import { dirname, join } from 'node:path'
import { asConversationId } from '@parley/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { findBubblewrap, probeProcessTracking, type Workspace } from '../../packages/server/src/workspace/index.ts'
import {
  openTestWorkspaces,
  isAlive,
  never,
  terminal,
  type TestWorkspaces,
} from '../../packages/server/src/workspace/workspace.testing.ts'
import { until } from '../../packages/server/testing/until.ts'
import { OWNER } from '../../packages/server/testing/roots.ts'

/** Folders of this account's home that may contain toolchains. */
const TOOLCHAINS = ['.cargo', '.local', '.nvm', '.pyenv', '.rustup', '.config', 'go']

const listen = async (server: Server): Promise<number> => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const found = await findBubblewrap()
if ('reason' in found) {
  if (process.env['CI'] === 'true') throw new Error(`the gate needs a sandbox: ${found.reason}`)
  console.log(`sandbox: not tested, ${found.reason}`)
}

describe.skipIf('reason' in found)('sandboxed commands', () => {
  let here: TestWorkspaces
  let mine: Workspace
  let secret: string

  beforeAll(async () => {
    here = await openTestWorkspaces({ sandbox: { mode: 'required', network: false } })
    mine = await here.open('mine')
    const other = await here.open('other')
    await other.writeFile('theirs.txt', Buffer.from('theirs'), never)
    await other.exec({ argv: ['true'] }, never)
    secret = join(here.dataDir, 'secret-key')
    writeFileSync(secret, 'the-secret')
  })
  afterAll(() => here[Symbol.asyncDispose]())

  const sh = async (script: string, env: Record<string, string> = {}) => {
    const { exit_code, stdout, stderr } = await mine.exec({ argv: ['sh', '-c', script], env, timeoutMs: 10_000 }, never)
    return { code: exit_code, text: stdout + stderr }
  }
  const inside = (name: string) => join(mine.workingDir, name)

  test('a sandboxed command writes only its workspace, its home and /tmp, which programs and the shell share', async () => {
    await sh('echo one > file; echo two > ~/file; echo three > "${TMPDIR:-/tmp}/file"')
    expect(readFileSync(inside('file'), 'utf8')).toBe('one\n')
    expect((await terminal(mine, 'cat ~/file "${TMPDIR:-/tmp}/file"; tty')).output).toBe('two\nthree\n/dev/console\n')
    for (const place of ['/etc', '/usr/bin', '/var/lib', '/', '/run', here.dataDir]) {
      expect((await sh(`touch '${place}/parley-was-here'`)).code).not.toBe(0)
      expect(existsSync(join(place, 'parley-was-here'))).toBe(false)
    }
  })

  test("a sandboxed command does not see the data directory, the user's home or another conversation", async () => {
    const home = process.env['HOME'] ?? '/root'
    for (const path of [secret, join(here.dir.file('work', 'other'), 'theirs.txt'), join(here.dataDir, 'runner')]) {
      expect(existsSync(path)).toBe(true)
      expect(await sh(`cat '${path}' || ls '${path}'`)).toMatchObject({ code: 2 })
      await expect(mine.readFile(path, never)).rejects.toMatchObject({ code: 'forbidden' })
    }
    for (const name of readdirSync(home).filter((one) => !TOOLCHAINS.includes(one)))
      expect((await sh(`ls -d '${home}/${name}'`)).code).toBe(2)
  })

  test('all four kinds of processes are sandboxed', async () => {
    const looks = `cat '${secret}' 2>/dev/null; ls /proc | grep -c '^[0-9]'`
    const program = await mine.spawn({ argv: ['sh', '-c', looks] }, never)
    const host = await here.workspaces.open(
      { conversationId: asConversationId('host-x'), owner: OWNER, workingDir: here.dir.file('elsewhere'), epoch: 1 },
      never,
    )
    const texts = [
      (await sh(looks)).text,
      await new Response(program.stdout).text(),
      (await terminal(mine, looks)).output,
      (await host.exec({ argv: ['sh', '-c', looks] }, never)).stdout,
    ]
    for (const text of texts) {
      expect(text).not.toContain('the-secret')
      expect(Number(text)).toBeLessThan(10)
    }
  })

  test('a sandboxed command reaches a local port only with network', async () => {
    const server = createServer((socket) => socket.end('reached'))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const script = `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3`
    const closed = await mine.exec({ argv: ['bash', '-c', script] }, never)
    expect(closed).toMatchObject({ exit_code: 1, stdout: '' })
    const open = await here.another({ sandbox: { mode: 'required', network: true } })
    const same = await here.open('open', 1, open)
    expect(await same.exec({ argv: ['bash', '-c', script] }, never)).toMatchObject({ exit_code: 0, stdout: 'reached' })
    server.close()
  })

  // Linux 6.12 is the first that can do it.
  const [major = 0, minor = 0] = release().split('.').map(Number)
  test.skipIf(process.arch !== 'x64' || major * 100 + minor < 612)(
    'with the network on, a sandboxed command reaches abstract sockets of its own program, and none of others',
    async () => {
      const name = `parley-test-${process.pid}`
      const server = createServer((socket) => socket.end('reached'))
      server.listen(`\0${name}`)
      await once(server, 'listening')
      const open = await here.open('sockets', 1, here.another({ sandbox: { mode: 'auto', network: true } }))
      const connect = (to: string) =>
        `socket(my $s, AF_UNIX, SOCK_STREAM, 0); print connect($s, pack_sockaddr_un("\\0${to}")) ? "connected" : "$!"`
      const perl = (script: string) => ['perl', '-MSocket', '-e', script]
      expect((await open.exec({ argv: perl(connect(name)) }, never)).stdout).toBe('Operation not permitted')
      expect((await terminal(open, `perl -MSocket -e '${connect(name)}'`)).output).toBe('Operation not permitted')
      const own = `socket(my $l, AF_UNIX, SOCK_STREAM, 0); bind($l, pack_sockaddr_un("\\0own")); listen($l, 1); ${connect('own')}`
      expect((await open.exec({ argv: perl(own) }, never)).stdout).toBe('connected')
      server.close()
    },
  )

  test('a script without an interpreter, and programs by name and by path, start with the network on', async () => {
    const open = await here.open('starts', 1, here.another({ sandbox: { mode: 'auto', network: true } }))
    await open.writeFile('plain', Buffer.from('echo "plain $1"\n'), never)
    await open.exec({ argv: ['chmod', '+x', 'plain'] }, never)
    const out = async (...argv: string[]) => (await open.exec({ argv }, never)).stdout
    expect(await out('./plain', 'a')).toBe('plain a\n')
    expect(await out(join(open.workingDir, 'plain'), 'b c')).toBe('plain b c\n')
    expect(await out('/bin/echo', 'x')).toBe('x\n')
    expect(await out('sh', '-c', 'echo $0')).toBe('sh\n')
    expect(await out('node', '-p', '1+1')).toBe('2\n')
    expect((await open.exec({ argv: ['sh', '-c', 'kill -9 $$'] }, never)).exit_code).toBe(137)
  })

  test.each<[string, () => string]>([
    ['a link out of the workspace', () => (symlinkSync(secret, inside('link')), 'cat link')],
    ['the root of process 1', () => `cat "/proc/1/root${secret}"`],
    [
      'inherited descriptors',
      () => `for fd in /proc/self/fd/* /proc/1/fd/*; do cat "$fd/../secret-key" "$fd${secret}"; done`,
    ],
    ['the working directory of process 1', () => `cat "/proc/1/cwd${secret}"`],
    ['taking the mount away', () => `umount '${here.dataDir}'; umount -l /tmp; cat '${secret}'`],
    ['mounting the disk again', () => `mount --bind / "$PWD"; mount -t proc proc /proc; cat '${secret}'`],
    ['namespaces of its own', () => `unshare -Urm sh -c "umount /tmp; cat '${secret}'"`],
    ['entering those of others', () => `nsenter -t 1 -a cat '${secret}'`],
    ['environments of other processes', () => `cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -a SECRET_OF`],
    ['a hard link', () => `ln '${secret}' hard; ln -P /etc/passwd hard2; cat hard`],
    ['a device', () => 'mknod disk b 8 0; mknod kmsg c 1 11; cat disk kmsg'],
  ])('a sandboxed command cannot leave the sandbox by %s', async (_, script) => {
    const { code, text } = await sh(script())
    expect(text).not.toContain('the-secret')
    expect(code).not.toBe(0)
  })

  test('a sandboxed command cannot signal, trace or contact the runner', async () => {
    const runner = await here.runnerPid()
    expect(runner).not.toBeNull()
    const socket = join(here.dataDir, 'runner', 's', 'r1.sock')
    const script = `kill -0 ${runner} && echo found; cat /proc/${runner}/environ; ls '${dirname(socket)}'; kill -9 -1`
    expect((await sh(script)).text).not.toMatch(/found|sock$/m)
    expect(isAlive(runner ?? 0)).toBe(true)
    const traced = await sh(`exec 2>&1; command -v strace >/dev/null || exit 1; timeout 2 strace -p ${runner}`)
    expect(traced.code).not.toBe(0)
    expect(await here.runnerPid()).toBe(runner)
  })

  test('links in a sandboxed workspace do not lead file operations of the server out of it', async () => {
    mkdirSync(inside('deep'), { recursive: true })
    symlinkSync(here.dataDir, inside('deep/data'))
    symlinkSync('/etc/parley-new', inside('deep/new'))
    await expect(mine.readFile('deep/data/secret-key', never)).rejects.toMatchObject({ code: 'forbidden' })
    await expect(mine.writeFile('deep/data/x', Buffer.from('x'), never)).rejects.toMatchObject({ code: 'forbidden' })
    await expect(mine.writeFile('/etc/parley-new', Buffer.from('x'), never)).rejects.toMatchObject({
      code: 'forbidden',
    })
    await expect(mine.list('deep/data', never)).rejects.toMatchObject({ code: 'forbidden' })
    await expect(mine.readFile('/proc/self/environ', never)).rejects.toMatchObject({ code: 'forbidden' })
    expect(Buffer.from(await mine.readFile('/etc/passwd', never)).length).toBeGreaterThan(0)
  })

  test('a sandboxed process ends at the release even if it detached itself', async () => {
    const leaving = await here.open('leaving')
    const hidden =
      'env -i setsid sh -c "trap \'\' TERM HUP INT; while :; do touch alive; sleep 0.05; done" >/dev/null 2>&1 &'
    await leaving.exec({ argv: ['sh', '-c', `${hidden} sleep 0.2`] }, never)
    const beat = join(leaving.workingDir, 'alive')
    await until(() => existsSync(beat))
    await leaving.release()
    rmSync(beat, { force: true })
    // Longer than the interval of the process, measured by a command of another conversation.
    await (await here.open('clock')).exec({ argv: ['sleep', '0.5'] }, never)
    expect(existsSync(beat)).toBe(false)
  })
})

describe.skipIf('reason' in found)('sandboxed commands with a list of hosts', () => {
  test('a sandboxed command reaches only listed hosts, through the proxy, and gets the reason of a refusal', async () => {
    const listed = createHttpServer((request, response) => response.end(`listed ${request.method} ${request.url}`))
    const other = createHttpServer((_, response) => response.end('other'))
    const [port, otherPort] = await Promise.all([listed, other].map(listen))
    await using here = await openTestWorkspaces({
      sandbox: { mode: 'required', network: [`127.0.0.1:${port}`, `*.test:${otherPort}`] },
    })
    const mine = await here.open('mine')
    const run = async (script: string) => {
      const { exit_code, stdout, stderr } = await mine.exec({ argv: ['bash', '-c', script], timeoutMs: 30_000 }, never)
      return { code: exit_code, text: stdout + stderr }
    }
    expect(await run(`curl -sS http://127.0.0.1:${port}/a?b=c`)).toEqual({ code: 0, text: 'listed GET /a?b=c' })
    expect(await run(`curl -sS -p -d x http://127.0.0.1:${port}/tunnel`)).toEqual({
      code: 0,
      text: 'listed POST /tunnel',
    })
    expect((await run(`curl -sS http://127.0.0.1:${otherPort}/`)).text).toContain('is not among the hosts')
    expect((await run(`curl -sS -p http://127.0.0.1:${otherPort}/`)).text).toContain('403')
    // Without the proxy, there is no network.
    expect((await run(`exec 3<>/dev/tcp/127.0.0.1/${port}`)).code).not.toBe(0)
    expect((await run(`curl -sS --noproxy '*' http://127.0.0.1:${port}/`)).code).not.toBe(0)
    // A name that matches a pattern and resolves to this machine.
    expect((await run(`curl -sS -p http://rebound.test:${otherPort}/`)).text).not.toContain('other')
    expect(await run('exit 3')).toEqual({ code: 3, text: '' })
    expect((await terminal(mine, `curl -sS http://127.0.0.1:${port}/terminal`)).output).toContain(
      'listed GET /terminal',
    )
    await Promise.all([listed, other].map((server) => server.close()))
  })

  test('a sandboxed command with a list of hosts can be interrupted and ended', async () => {
    await using here = await openTestWorkspaces({ sandbox: { mode: 'required', network: ['example.test'] } })
    const mine = await here.open('mine')
    const beat = join(mine.workingDir, 'beat')
    const running = terminal(mine, 'while :; do date +%N > beat; sleep 0.05; done')
    await until(() => existsSync(beat))
    await mine.interrupt()
    expect(await running).toMatchObject({ outcome: 'exited', exit_code: 130 })
    const program = await mine.spawn({ argv: ['sh', '-c', 'echo up; sleep 60'] }, never)
    expect(Buffer.from((await program.stdout.getReader().read()).value ?? []).toString()).toBe('up\n')
    await program.kill('SIGTERM')
    expect(await program.exited).not.toMatchObject({ exit_code: 0 })
  })
})

test('a required sandbox without bubblewrap refuses every process with its reason', async () => {
  await using dir = await tempDir()
  // A search path with everything but bubblewrap.
  mkdirSync(dir.file('bin'), { recursive: true })
  symlinkSync('/bin/bash', dir.file('bin', 'bash'))
  const env = { PARLEY_SANDBOX: 'required', PATH: dir.file('bin') }
  await using server = await startServerProcess({ dataDir: dir.file('data'), env })
  const { body: info } = await server.call('GET', '/server_info')
  expect(info.isolation).toEqual({ level: 'none', network: false })
  const { body: output } = await server.call('POST', '/api/bash/execute_bash_command', { command: 'touch was-here' })
  expect(output).toMatchObject({ stderr: expect.stringMatching(/without a sandbox, and bubblewrap is not installed/) })
  expect(output.exit_code).not.toBe(0)
})

test('the API shows how processes of a conversation are found', async () => {
  await using dir = await tempDir()
  await using server = await startServerProcess({ dataDir: dir.file('data') })
  const { body: info } = await server.call('GET', '/server_info')
  expect(info.process_tracking).toBe(probeProcessTracking().level)
})

test.skipIf('reason' in found)('the API shows the isolation level', async () => {
  await using dir = await tempDir()
  const env = { PARLEY_SANDBOX: 'auto', PARLEY_SANDBOX_NETWORK: 'false' }
  await using server = await startServerProcess({ dataDir: dir.file('data'), env })
  const { body: info } = await server.call('GET', '/server_info')
  expect(info.isolation).toEqual({ level: 'bubblewrap', network: false })
})
