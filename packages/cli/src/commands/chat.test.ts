import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Parley, run, startServer, temporaryFolder } from '../testing/parley.ts'

async function scripted(folder: string, answers: unknown[]): Promise<string[]> {
  await mkdir(join(folder, 'work'), { recursive: true })
  await writeFile(join(folder, 'script.json'), JSON.stringify(answers))
  return ['--model', `scripted/${join(folder, 'script.json')}`, '--workspace', join(folder, 'work')]
}

const command = (text: string, line: string) => ({
  text,
  tool_calls: [{ name: 'terminal', arguments: { command: line } }],
})

test('parley chat answers lines from a pipe one after the other', async () => {
  await using folder = await temporaryFolder()
  const options = { dataDir: join(folder.path, 'data') }
  await using server = (await startServer(options)).parley
  const flags = await scripted(folder.path, [
    { text: 'Hello to you.' },
    command('Let me see.', 'echo one two'),
    { text: 'There.' },
  ])
  const { code, stdout, stderr } = await run(['chat', ...flags], options, 'hello\nlook\n')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout.split('\n').slice(1)).toEqual([
    'you    hello',
    'agent  Hello to you.',
    'you    look',
    'agent  Let me see.',
    '▸ terminal  $ echo one two',
    '  one two',
    'agent  There.',
    '',
  ])
  expect(server.process.exitCode).toBe(null)
})

test('parley chat approves a pending action and rejects another with a reason', async () => {
  await using folder = await temporaryFolder()
  const options = { dataDir: join(folder.path, 'data') }
  await using _server = (await startServer(options)).parley
  const flags = await scripted(folder.path, [
    command('First.', 'echo yes >> done'),
    command('Second.', 'echo no >> done'),
    { text: 'As you like.' },
  ])
  await using chat = new Parley(['chat', '--confirm', 'always', ...flags], options)
  chat.type('go on\n')
  await chat.prints(/\$ echo yes[\s\S]*waiting for your decision/)
  chat.type('y\n')
  await chat.prints(/\$ echo no[\s\S]*waiting for your decision/)
  chat.type('not that one\n')
  await chat.prints(/terminal refused: not that one[\s\S]*As you like\./)
  chat.process.stdin!.end()
  expect(await chat.exit()).toBe(0)
  const { stdout } = await run(
    ['chat', '--conversation', /conversation (\S+)/.exec(chat.stdout)![1]!],
    options,
    '/quit\n',
  )
  expect(stdout).toMatch(/^conversation \S+ in .*work$/m)
})

test('parley chat from a pipe ends with exit code 1 after an error', async () => {
  await using folder = await temporaryFolder()
  const options = { dataDir: join(folder.path, 'data') }
  await using _server = (await startServer(options)).parley
  const flags = await scripted(folder.path, [{ error: 'the model is out' }])
  const { code, stdout } = await run(['chat', ...flags], options, 'hello\n')
  expect(code).toBe(1)
  expect(stdout).toMatch(/the model is out/)
})

test('parley chat works in its directory with the model of the server, and its approvals need no other option', async () => {
  await using folder = await temporaryFolder()
  const cwd = join(folder.path, 'work')
  const [, model] = await scripted(folder.path, [command('Writing.', 'pwd > where'), { text: 'Written.' }])
  const options = { dataDir: join(folder.path, 'data'), env: { LLM_MODEL: model! }, cwd }
  await using _server = (await startServer(options)).parley
  const { LLM_MODEL: _, ...env } = options.env
  await using chat = new Parley(['chat', '--confirm', 'always'], { ...options, env })
  chat.type('go\n')
  await chat.prints(/waiting for your decision/)
  chat.type('y\n')
  await chat.prints(/Written\./)
  expect(await readFile(join(cwd, 'where'), 'utf8')).toBe(`${cwd}\n`)
})

test('parley chat says how to configure a model when there is none', async () => {
  await using folder = await temporaryFolder()
  const options = { dataDir: join(folder.path, 'data') }
  await using _server = (await startServer(options)).parley
  const { code, stderr } = await run(['chat'], options)
  expect(code).toBe(1)
  expect(stderr).toMatch(/no model is configured.*parley open.*LLM_MODEL.*--model/)
})
