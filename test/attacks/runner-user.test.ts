/** Commands that run as another account than the server: what they, and the server for them, cannot do. Needs root. docs/security.md, An account for commands. */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { run } from '../../packages/server/testing/conversation-starts.ts'
import { processesOf } from '../../packages/server/testing/processes.ts'
import { ofKind, startRunning, type Loose, type Running } from '../../packages/server/testing/restartable-server.ts'
import type { ScriptedModelOptions } from '../../packages/server/testing/scripted-model.ts'
import { tempDir, type TempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'
import { readConfig, startServer } from '../../packages/server/src/index.ts'
import { findBubblewrap } from '../../packages/server/src/workspace/index.ts'

const CLI = fileURLToPath(new URL('../../packages/cli/src/main.ts', import.meta.url))
const isRoot = process.getuid?.() === 0
/** The account without rights that every Linux has. */
const NOBODY = { name: 'nobody', uid: 65_534, gid: 65_534, home: '/nonexistent' }
const bubblewrap = isRoot ? await findBubblewrap(process.env['PATH'], NOBODY) : { reason: 'not root' }
const SANDBOXES = 'path' in bubblewrap ? ['off', 'required'] : ['off']
const SECRET = 'only-for-root'

/** A message `RUN command` lets the agent run the command, then it answers. */
const obey: NonNullable<ScriptedModelOptions['respond']> = ({ body, view }) => {
  const messages = body['messages'] as { role: string }[]
  const [, name, text = ''] = /(RUN|WRITE) (.*)$/s.exec(view.lastUserText) ?? []
  if (messages.at(-1)!.role === 'tool' || name === undefined) return { text: 'done' }
  if (name === 'RUN') return run(text)
  const [command, path, file_text] = text.split('\n')
  return { toolCalls: [{ name: 'file_editor', arguments: { command, path, file_text } }] }
}

/** `settings` may change before a restart. */
const serve = (sandbox: string, settings: Record<string, string>) =>
  startRunning(obey, () => ({ PARLEY_SANDBOX: sandbox, ...settings }), 'process', { isEntered: true })

type Begun = { id: string; at: (name: string) => string }

/** Starts a conversation in a workspace that the server makes. */
async function begin(server: Running): Promise<Begun> {
  const llm = { llm_model: 'openai/scripted', llm_base_url: `${server.model.url}/v1`, llm_api_key: 'k' }
  await server.call('POST', '/api/settings', llm)
  const { body } = await server.call('POST', '/api/conversations', {}, { prefer: 'wait=20' })
  const id: string = body.conversation_id
  return { id, at: (name) => server.file('data', 'workspaces', id, name) }
}

/** Starts a conversation in a directory that the operator has given to the account. */
async function beginIn(server: Running, members: object): Promise<Begun> {
  mkdirSync(server.file('work'), { recursive: true })
  chownSync(server.file('work'), NOBODY.uid, NOBODY.gid)
  const id = await server.start({ ...members })
  return { id, at: (name) => join(server.work(id), name) }
}

/** Sends a message that makes the agent do one thing; returns the texts of all observations. */
async function say(server: Running, id: string, text: string): Promise<string> {
  await server.say(id, text)
  await server.until(id, 'finished', 'error')
  const seen = ofKind(await server.events(id), 'ObservationEvent')
  return seen.map(({ observation }) => observation.content.map((part: Loose) => part.text ?? '').join('\n')).join('\n')
}

/** Entries below a directory that do not belong to the account. */
const foreign = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .concat('')
    .filter((name) => lstatSync(join(directory, name)).uid !== NOBODY.uid)

describe.skipIf(!isRoot).each(SANDBOXES)('with runner_user and the sandbox %s', (sandbox) => {
  let server: Running
  beforeAll(async () => {
    server = await serve(sandbox, { PARLEY_RUNNER_USER: 'nobody', PARLEY_ALLOW_ROOT: 'false' })
  })
  afterAll(() => server[Symbol.asyncDispose]())
  const bash = async (command: string, cwd?: string) =>
    (await server.call('POST', '/api/bash/execute_bash_command', { command, timeout: 20, ...(cwd && { cwd }) })).body
  const download = (path: string) => server.call('GET', `/api/file/download?path=${encodeURIComponent(path)}`)
  const upload = (path: string, text: string) => server.upload(path, text)

  test('a command has the ids of the account, no other group, and no file of the server', async () => {
    const { stdout } = await bash('id -u; id -g; id -G; umask; echo "$USER"')
    expect(stdout.split('\n').slice(0, 3)).toEqual(['65534', '65534', '65534'])
    expect(stdout).toContain('nobody')
    const pid = server.pid()
    const data = server.file('data')
    const runner = (await processesOf(data, data)).find(({ isRunner }) => isRunner)?.pid
    expect(runner).toBeGreaterThan(0)
    const files = [
      'parley.db',
      'secret-key',
      'first-key',
      'server.json',
      'runner/runner.log',
      'runner/ledger-p5.ndjson',
    ]
    for (const command of [
      ...files.map((name) => `cat ${data}/${name}`),
      `ls ${data}`,
      `ls ${data}/runner`,
      `ls ${data}/workspaces`,
      `cat /proc/${pid}/environ`,
      `cat /proc/${pid}/maps`,
      `head -c 1 /proc/${pid}/mem`,
      `ls /proc/${pid}/fd/`,
      `ls /proc/${pid}/root/`,
      `kill -0 ${pid}`,
      `cat /proc/${runner}/environ`,
      `kill -0 ${runner}`,
      'cat /etc/shadow',
    ])
      expect([command, (await bash(command)).exit_code]).not.toEqual([command, 0])
  })

  test('nothing of the data directory is open to the account but its own files', async () => {
    const { id } = await begin(server)
    await say(server, id, 'RUN seq 1 20000; echo x >a')
    const open: string[] = []
    const visit = (path: string): void => {
      const { uid, gid, mode } = lstatSync(path)
      if (uid === NOBODY.uid) return
      const bits = (gid === NOBODY.gid ? mode >> 3 : mode) & 7
      const isFolder = lstatSync(path).isDirectory()
      if (isFolder ? (bits & 6) !== 0 : bits !== 0) open.push(path.slice(server.file('data').length))
      if (isFolder && (bits & 1) !== 0) for (const name of readdirSync(path)) visit(join(path, name))
    }
    visit(server.file('data'))
    // What every program in a sandbox opens.
    const shown = /^\/runner\/(etc\/[^/]+(\/.*)?|calls\.bpf|scope|way-out\.cjs)$/
    expect(open.filter((path) => !shown.test(path))).toEqual([])
  })

  test('commands and file routes read what the other wrote, git works, and all of it belongs to the account', async () => {
    const { id, at } = await begin(server)
    const git = 'git init -q . && git add . && git -c user.name=a -c user.email=b commit -qm first'
    await say(server, id, `RUN id -u; echo from-terminal >terminal; ${git}; git status --short; seq 1 20000`)
    expect((await download(at('terminal'))).text).toBe('from-terminal\n')
    expect(await upload(at('deep/down/uploaded'), 'from-upload')).toBe(200)
    await say(server, id, `WRITE create\n${at('edited')}\nfrom-editor`)
    const text = await say(
      server,
      id,
      'RUN cat deep/down/uploaded edited && echo more >>deep/down/uploaded && rm edited',
    )
    expect(text).toMatch(/from-upload[^]*from-editor/)
    expect(text).not.toMatch(/denied|dubious|fatal/)
    expect((await download(at('deep/down/uploaded'))).text).toBe('from-uploadmore\n')
    expect(foreign(at(''))).toEqual([])
    // The whole output is in a file that commands can read.
    const [, kept] = /The whole output is in (\S+);/.exec(text) ?? []
    expect(await say(server, id, `RUN head -3 ${kept}; wc -c ${kept}`)).not.toMatch(/denied|No such/)
    const changes = await server.call('GET', `/api/git/changes?path=${encodeURIComponent(at(''))}`)
    expect(changes.body.map((change: Loose) => change.path)).toContain('deep/down/uploaded')
    for (const format of ['tar.gz', 'git-delta']) {
      const archive = await server.call('GET', `/api/file/archive?path=${encodeURIComponent(at(''))}&format=${format}`)
      expect(archive.status).toBe(200)
    }
  }, 60_000)

  test('Node, a virtual environment of Python and git work on the first day', async () => {
    const { id } = await begin(server)
    const day = [
      'node -p "6*7"',
      'python3 -m venv --without-pip .venv && . .venv/bin/activate && python -c "import sys; print(sys.prefix)"',
      'echo .venv >.gitignore && git init -q . && git config --global user.email a@b && git config --global user.name a',
      'git add . && git commit -qm "first day" && git log --format=%s && cd "$HOME" && echo "at home in $PWD" >x && cat x',
    ]
    const text = await say(server, id, `RUN ${day.join(' && ')}`)
    expect(text).toMatch(/42[^]*\.venv[^]*first day[^]*at home in \//)
  })

  test('a fork and a restored checkpoint belong to the account, which works on in them', async () => {
    const { id, at } = await begin(server)
    await say(server, id, 'RUN mkdir d && echo one >d/a && git init -q .')
    await say(server, id, 'RUN echo two >d/a')
    const [first] = ofKind(await server.events(id), 'ObservationEvent')
    const { status, body } = await server.call('POST', `/api/conversations/${id}/fork`, { from_event_id: first.id })
    expect([status, body.files]).toEqual([201, { outcome: 'copied', detail: null }])
    await say(server, body.id, 'RUN cat d/a; echo three >>d/a; git status --short')
    const copy = server.file('data', 'workspaces', body.id)
    expect(readFileSync(join(copy, 'd/a'), 'utf8')).toBe('one\nthree\n')
    expect(foreign(copy)).toEqual([])
    await server.call('POST', `/api/conversations/${id}/navigate`, { event_id: first.id, restore_files: true })
    expect(readFileSync(at('d/a'), 'utf8')).toBe('one\n')
    expect(await say(server, id, 'RUN echo again >d/a && cat d/a')).toContain('again')
    expect(foreign(at(''))).toEqual([])
    const removed = await server.call('DELETE', `/api/conversations/${body.id}?workspace=delete`)
    expect(removed.status).toBe(200)
    await until(() => !existsSync(copy) && !existsSync(server.file('data', 'conversations', body.id)))
  }, 60_000)

  test('hooks, stdio MCP servers and ACP agents run as the account', async () => {
    const hook = { pre_tool_use: [{ matcher: '*', hooks: [{ command: 'id -u >hook' }] }] }
    const mcp_config = { probe: { command: 'sh', args: ['-c', 'id -u >mcp; exec cat'] } }
    const llm = { model: 'openai/scripted', base_url: `${server.model.url}/v1`, api_key: 'k', num_retries: 0 }
    const agent = { kind: 'Agent', llm, tools: [{ name: 'terminal' }], mcp_config }
    const { id, at } = await beginIn(server, { agent, hook_config: hook })
    await say(server, id, 'RUN true')
    const acp = { kind: 'ACPAgent', acp_command: ['sh', '-c', 'id -u >acp; exec cat >/dev/null'] }
    const other = await beginIn(server, { agent: acp })
    await server.say(other.id, 'hello')
    const written = [at('hook'), at('mcp'), other.at('acp')]
    await until(() => written.every((path) => existsSync(path) && readFileSync(path, 'utf8') !== ''))
    expect(written.map((path) => readFileSync(path, 'utf8'))).toEqual(['65534\n', '65534\n', '65534\n'])
  }, 60_000)

  test('the server reads and writes for its users only what the account may', async () => {
    const { id, at } = await begin(server)
    await say(server, id, 'RUN true')
    const [closed, secret] = [server.file('closed'), server.file('closed', 'secret')]
    const [open, other] = [server.file('open'), server.file('open', 'secret')]
    for (const folder of [closed, open]) mkdirSync(folder, { recursive: true })
    for (const file of [secret, other]) writeFileSync(file, SECRET, { mode: 0o600 })
    chmodSync(secret, 0o644)
    chmodSync(closed, 0o700)
    symlinkSync(other, at('link'))
    symlinkSync(closed, at('folder'))
    linkSync(other, at('hard'))
    for (const path of [secret, other, at('link'), at('folder/secret'), at('hard')]) {
      const { status, text } = await download(path)
      expect([path, status < 500, text.includes(SECRET)]).toEqual([path, true, false])
      expect([path, status]).not.toEqual([path, 200])
      expect(await say(server, id, `WRITE view\n${path}`)).not.toContain(SECRET)
    }
    for (const path of [join(closed, 'new'), join(open, 'new'), at('folder/new'), '/etc/parley-test', '/parley-test'])
      expect([path, await upload(path, 'x')]).not.toEqual([path, 200])
    expect([readdirSync(closed), readdirSync(open)]).toEqual([['secret'], ['secret']])
    const made = await server.call('POST', `/api/file/create_directory?path=${encodeURIComponent(join(open, 'made'))}`)
    expect([made.status < 500, existsSync(join(open, 'made'))]).toEqual([true, false])
    const started = await server.call('POST', '/api/conversations', { workspace: { working_dir: closed }, agent: {} })
    expect([started.status, (await bash('cat secret', closed)).exit_code]).not.toEqual([201, 0])
  }, 60_000)

  test('a command that survives its server is taken over by the next one, still as the account', async () => {
    const { id, at } = await begin(server)
    await server.say(id, `RUN touch begun; until [ -e go ]; do sleep 0.05; done; id -u`)
    await until(() => existsSync(at('begun')))
    await server.kill()
    expect(await upload(at('go'), '')).toBe(200)
    await server.until(id, 'finished')
    const [seen] = ofKind(await server.events(id), 'ObservationEvent')
    expect(seen.observation.content[0].text).toContain('65534')
  }, 60_000)
})

test.skipIf(!isRoot)(
  'links that a command puts into the directories of the server lead the server nowhere',
  async () => {
    await using server = await serve('off', { PARLEY_RUNNER_USER: 'nobody', PARLEY_ALLOW_ROOT: 'false' })
    const { id, at } = await begin(server)
    await say(server, id, 'RUN echo one >a')
    const [target, folder] = [server.file('target'), server.file('folder')]
    writeFileSync(target, SECRET, { mode: 0o600 })
    mkdirSync(folder, { mode: 0o700 })
    writeFileSync(join(folder, 'kept.lock'), SECRET)
    const git = server.file('data', 'conversations', id, 'checkpoints.git')
    const links = `cd ${git} && ln -sf ${target} new-reference && ln -sf ${target} packed-refs && ln -sf ${target} index.lock`
    await say(
      server,
      id,
      `RUN ${links}; mv refs/checkpoints .. ; rm -r refs/checkpoints; ln -s ${folder} refs/checkpoints; ls -l . refs`,
    )
    await say(server, id, 'RUN echo two >a')
    const made = await server.call('POST', `/api/conversations/${id}/fork`, {})
    expect(made.status).toBeLessThan(500)
    const copied = spawnSync('grep', ['-rl', SECRET, server.file('data')], { encoding: 'utf8' }).stdout
    expect(copied.split('\n').filter((path) => /conversations|workspaces/.test(path))).toEqual([])
    await say(server, id, `RUN mkdir tree && cd tree && ln -s ${folder} down && ln -s ${target} file`)
    await server.call('DELETE', `/api/conversations/${id}?workspace=delete`)
    // A fork without a checkpoint works in the same directory, which then stays.
    await server.call('DELETE', `/api/conversations/${made.body.id}?workspace=delete`)
    await until(() => !existsSync(at('')) && !existsSync(server.file('data', 'conversations', id)))
    expect([readFileSync(target, 'utf8'), readdirSync(folder)]).toEqual([SECRET, ['kept.lock']])
    expect([target, folder, join(folder, 'kept.lock')].map((path) => lstatSync(path).uid)).toEqual([0, 0, 0])
    expect([target, folder].map((path) => lstatSync(path).mode & 0o777)).toEqual([0o600, 0o700])
  },
  60_000,
)

describe('a start with runner_user', () => {
  let dir: TempDir
  beforeAll(async () => {
    dir = await tempDir()
  })
  afterAll(() => dir[Symbol.asyncDispose]())
  const configOf = (env: Record<string, string>) => {
    const key = { PARLEY_SESSION_API_KEYS: 'k'.repeat(40), PARLEY_LOG_LEVEL: 'silent' }
    const flags = { port: '0', 'data-dir': dir.file('data') }
    return readConfig({ flags, env: { ...key, ...env }, cwd: dir.path, home: dir.path }).config
  }

  if (!isRoot)
    test('is refused without the rights of root', async () => {
      const sentence = /only root can start commands as another account; start the server as root/
      await expect(startServer(configOf({ PARLEY_RUNNER_USER: 'nobody' }))).rejects.toThrow(sentence)
    })

  test.skipIf(!isRoot).each([
    ['an unknown account', 'no-such-account', {}, /has no account no-such-account, .*; create it, .*useradd/],
    ['an unknown user id', '4123456789', {}, /has no account 4123456789/],
    ['an option of a program', '--help', {}, /has no account --help/],
    ['root', 'root', {}, /runner_user is root, which is root; name an account/],
    ['the user id 0', '0', {}, /runner_user is root, which is root; name an account/],
    [
      'a data directory below a closed one',
      'nobody',
      { under: 0o700 },
      /nobody, .*cannot enter .*; name another with PARLEY_DATA_DIR/,
    ],
    [
      'a configuration that the account can read',
      'nobody',
      { file: 0o644 },
      /nobody, .*can read .*the configuration; chmod 600/,
    ],
    ['a set-up file that it cannot read', 'nobody', { setup: 0o600 }, /nobody, .*cannot read .*; chmod 644/],
  ] as [string, string, { under?: number; file?: number; setup?: number }, RegExp][])(
    'is refused with one sentence for %s',
    async (_, account, { under = 0o711, file = 0o600, setup = 0o644 }, sentence) => {
      for (const [name, mode] of [
        ['parley.json', file],
        ['setup.sh', setup],
      ] as const) {
        writeFileSync(dir.file(name), name === 'parley.json' ? '{}' : '')
        chmodSync(dir.file(name), mode)
      }
      chmodSync(dir.path, under)
      const config = configOf({
        PARLEY_RUNNER_USER: account,
        PARLEY_CONFIG: dir.file('parley.json'),
        PARLEY_SHELL_SETUP: dir.file('setup.sh'),
      })
      const { message } = await startServer(config).then(
        () => new Error('it starts'),
        (error: Error) => error,
      )
      expect(message).toMatch(sentence)
      expect(message).toMatch(/^the server does not start in the mode personal \(commands run as\): [^\n]+$/)
      expect(existsSync(dir.file('data'))).toBe(false)
    },
  )

  test.skipIf(!isRoot)('is a row of the doctor, by name and by user id', async () => {
    chmodSync(dir.path, 0o711)
    // As a start leaves them.
    for (const folder of ['data', 'data/runner']) {
      mkdirSync(dir.file(folder))
      chmodSync(dir.file(folder), 0o710)
    }
    for (const [account, row] of [
      ['65534', /^ok {4}commands run as {2}nobody \(user id 65534\)$/m],
      ['65534', /^ok {4}data directory [^]*^ok {4}runner socket /m],
      ['no-such-account', /^fail {2}commands run as {2}this machine has no account no-such-account/m],
    ] as const) {
      const env = { PATH: process.env['PATH'], HOME: dir.path, PARLEY_RUNNER_USER: account }
      const args = [CLI, 'doctor', '--data-dir', dir.file('data')]
      expect(spawnSync(process.execPath, args, { env, encoding: 'utf8' }).stdout).toMatch(row)
    }
  })

  test.skipIf(!isRoot)(
    'gives earlier workspaces to the account, and ends the commands that run as root',
    async () => {
      const settings: Record<string, string> = {}
      const as = (account: string) =>
        Object.assign(settings, { PARLEY_RUNNER_USER: account, PARLEY_ALLOW_ROOT: String(account === '') })
      await using server = await serve('off', as(''))
      const { id, at } = await begin(server)
      const own = () => foreign(at('')).filter((name) => name !== 'other')
      await say(server, id, 'RUN mkdir -p d/e && echo x >d/e/f && ln -s /etc/shadow link && ln -T /etc/hostname other')
      await server.say(id, 'RUN sh -c "echo $$ >pid; exec sleep 600"')
      await until(() => existsSync(at('pid')) && readFileSync(at('pid'), 'utf8') !== '')
      const running = `/proc/${readFileSync(at('pid'), 'utf8').trim()}`
      expect(lstatSync(running).uid).toBe(0)

      as('nobody')
      await server.kill()
      expect([existsSync(running), own()]).toEqual([false, []])
      expect([lstatSync('/etc/shadow').uid, lstatSync('/etc/hostname').uid]).toEqual([0, 0])
      await server.until(id, 'finished', 'error')
      expect(await say(server, id, 'RUN id -u; echo y >>d/e/f; ls')).toMatch(/65534/)
      expect(readFileSync(at('d/e/f'), 'utf8')).toBe('x\ny\n')
      const [first] = ofKind(await server.events(id), 'ObservationEvent')
      await server.call('POST', `/api/conversations/${id}/navigate`, { event_id: first.id, restore_files: true })
      expect(readFileSync(at('d/e/f'), 'utf8')).toBe('x\n')

      as('')
      await server.kill()
      expect(await say(server, id, 'RUN echo z >of-root; id -u')).toMatch(/\n0\n*$/)
      as('nobody')
      await server.kill()
      expect(own()).toEqual([])
    },
    90_000,
  )
})
