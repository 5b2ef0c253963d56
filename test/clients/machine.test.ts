import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { instruct } from '../../packages/server/testing/instructed-model.ts'
import { type Bench, client, clients, type Frame, startBench } from '../../packages/server/testing/typescript-client.ts'
import { until } from '../../packages/server/testing/until.ts'

let bench: Bench
beforeAll(async () => {
  bench = await startBench()
  mkdirSync(bench.workingDir)
})
afterAll(() => bench[Symbol.asyncDispose]())

const workspace = () => new client.RemoteWorkspace({ ...bench.options, workingDir: bench.workingDir })

test('a client workspace runs a command and returns its output', async () => {
  const result = await workspace().executeCommand('pwd; echo wrong >&2; exit 3', bench.workingDir)
  expect(result).toMatchObject({ exit_code: 3, stdout: `${bench.workingDir}\n`, stderr: 'wrong\n' })
})

test('a client workspace uploads and downloads files', async () => {
  const remote = workspace()
  const path = bench.server.dir.file('deep', 'er', 'a.txt')
  expect(await remote.uploadText('rhubarb\n', path)).toMatchObject({ success: true })
  expect(readFileSync(path, 'utf8')).toBe('rhubarb\n')
  expect(await remote.downloadAsText(path)).toBe('rhubarb\n')
  const bytes = new Uint8Array(256).map((_, index) => index)
  const files = new clients.FileClient(bench.options)
  await files.uploadFile(new Blob([bytes]), path, 'a.bin')
  expect(new Uint8Array(await files.downloadFile(path))).toEqual(bytes)
  await expect(remote.fileDownload(bench.server.dir.file('deep', 'none'))).rejects.toMatchObject({ status: 404 })
})

test('a client workspace shows the changes of its repository', async () => {
  const folder = bench.server.dir.file('repository')
  mkdirSync(folder)
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', '-C', folder, ...args], { stdio: 'ignore' })
  git('init', '-q', '-b', 'main')
  writeFileSync(`${folder}/old`, 'one\n')
  git('add', '.')
  git('commit', '-qm', 'first')
  writeFileSync(`${folder}/old`, 'two\n')
  writeFileSync(`${folder}/new`, 'three\n')
  expect(await workspace().gitChanges(folder, { ref: 'HEAD' })).toEqual([
    { status: 'ADDED', path: 'new', additions: 1, deletions: 0, ref: expect.any(String) },
    { status: 'UPDATED', path: 'old', additions: 1, deletions: 1, ref: expect.any(String) },
  ])
  const diff = await workspace().gitDiff(`${folder}/old`, { ref: 'HEAD' })
  expect([diff.original?.trim(), diff.modified?.trim()]).toEqual(['one', 'two'])
})

test('the client opens a browser session for the files of a workspace', async () => {
  const remote = workspace()
  const { id } = await new client.ConversationManager(bench.options).createConversation(bench.agent(), {
    workingDir: bench.workingDir,
  })
  expect(await remote.startWorkspaceSession(id)).toBe(`${bench.server.url}/api/conversations/${id}/workspace/`)
  await remote.deleteWorkspaceSession()
})

test('the client starts, finds and clears bash commands', async () => {
  const bash = new clients.BashClient(bench.options)
  const started = await bash.startCommand('echo found')
  const outputs = async () =>
    ((await bash.searchEvents({ command_id__eq: started.id, kind__eq: 'BashOutput' } as never)) as Frame).items
  await until(async () => (await outputs()).some(({ exit_code }: Frame) => exit_code === 0))
  expect((await outputs())[0].stdout).toBe('found\n')
  expect(await bash.getEvent(started.id)).toMatchObject({ kind: 'BashCommand', command: 'echo found' })
  expect(await bash.batchGetEvents([started.id, 'f'.repeat(32)])).toMatchObject([{ id: started.id }, null])
  expect((await bash.executeCommand({ command: 'exit 4' })).exit_code).toBe(4)
  expect((await bash.clearEvents()).cleared_count).toBeGreaterThan(0)
})

test('the bash socket of the client receives output, and stored events on request', async () => {
  const frames: Frame[] = []
  const errors: Error[] = []
  const bash = new clients.BashClient(bench.options)
  await bash.executeCommand('echo before')
  const socket = new client.BashWebSocketClient({
    ...bench.options,
    resendMode: 'all',
    callback: (event: Frame) => void frames.push(event),
    onError: (error: Error) => void errors.push(error),
  } as never)
  socket.start()
  try {
    await until(() => frames.some(({ stdout }) => stdout === 'before\n'))
    await bash.executeCommand('echo after')
    await until(() => frames.some(({ stdout }) => stdout === 'after\n'))
    expect(errors).toEqual([])
  } finally {
    socket.stop()
  }
})

test('the client browses folders and downloads a trajectory', async () => {
  const files = new clients.FileClient(bench.options)
  mkdirSync(bench.server.dir.file('look', 'here'), { recursive: true })
  const found = await files.searchSubdirectories(bench.server.dir.file('look'))
  expect(found.items).toEqual([{ name: 'here', path: bench.server.dir.file('look', 'here') }])
  expect((await files.getHome()).home).toMatch(/^\//)
  await using talk = await bench.talk()
  await talk.conversation.sendMessage(instruct({ text: 'Here.' }))
  await talk.conversation.run()
  await talk.rested()
  const zip = await talk.conversation.downloadTrajectory()
  expect(await zip.slice(0, 2).text()).toBe('PK')
})

test('the client saves, shows without keys, renames, uses and deletes LLM profiles', async () => {
  const profiles = new clients.ProfilesClient(bench.options)
  await profiles.saveProfile('quick', { llm: { model: 'openai/gpt-4o-mini', api_key: 'profile-key' } } as never)
  const listed = (await profiles.listProfiles()) as Frame
  expect(listed.profiles).toMatchObject([{ name: 'quick', model: 'openai/gpt-4o-mini', api_key_set: true }])
  expect(JSON.stringify(await profiles.getProfile('quick'))).not.toContain('profile-key')
  expect(
    await profiles.validateProfile('quick', { llm: { model: 'openai/x', temperature: -1 } } as never),
  ).toMatchObject({ valid: false })
  await profiles.renameProfile('quick', 'fast')
  expect(await profiles.activateProfile('fast')).toMatchObject({ name: 'fast', llm_applied: true })
  expect(((await new clients.SettingsClient(bench.options).getSettings()) as Frame).active_profile).toBe('fast')
  await profiles.deleteProfile('fast')
  expect(((await profiles.listProfiles()) as Frame).profiles).toEqual([])
})

test('the client saves, reads, activates and deletes agent profiles', async () => {
  await new clients.ProfilesClient(bench.options).saveProfile('base', { llm: { model: 'openai/gpt-4o' } } as never)
  const agents = new clients.AgentProfilesClient(bench.options)
  await agents.saveAgentProfile('helper', { agent_kind: 'openhands', llm_profile_ref: 'base' } as never)
  const { profiles } = (await agents.listAgentProfiles()) as Frame
  const helper = profiles.find(({ name }: Frame) => name === 'helper')
  expect(helper).toMatchObject({ agent_kind: 'openhands', llm_profile_ref: 'base' })
  expect(await agents.materializeAgentProfile('helper')).toMatchObject({ llm_profile_resolved: true })
  expect(await agents.activateAgentProfile(helper.id)).toMatchObject({ id: helper.id })
  await agents.renameAgentProfile('helper', 'aide')
  expect(await agents.getAgentProfile('aide')).toMatchObject({ profile: { name: 'aide' } })
  await agents.deleteAgentProfile('aide')
})

test('the client lists tools, providers and models', async () => {
  expect(await new clients.ToolClient(bench.options).listTools()).toEqual(expect.arrayContaining(['terminal']))
  const models = new clients.LLMMetadataClient(bench.options)
  expect(await models.getProviders()).toContain('openai')
  expect((await models.getModels('openai')).length).toBeGreaterThan(0)
  expect(Object.keys(await models.getVerifiedModels()).length).toBeGreaterThan(0)
})

test('a client lists the skills of a project', async () => {
  const folder = bench.server.dir.file('skilled')
  mkdirSync(folder)
  writeFileSync(`${folder}/AGENTS.md`, 'Always speak of rhubarb.\n')
  const { skills } = await new clients.SkillsClient(bench.options).getSkills({ project_dir: folder, load_user: false })
  expect(skills).toMatchObject([{ name: 'agents', type: 'repo', content: 'Always speak of rhubarb.' }])
})
