import { mkdir, realpath, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import {
  EVERYTHING,
  FILESYSTEM,
  MEMORY,
  startListening,
  startToolboxes,
  startReachable,
  stdio,
  TRANSPORTS,
} from '../../packages/server/testing/mcp/servers.ts'

test('the server everything works over standard input and output: texts, images, structured results and refusals', async () => {
  await using place = await startToolboxes()
  const box = await place.box({ everything: stdio(EVERYTHING) })
  expect(box.source.takeNotices()).toEqual([])
  expect(box.names()).toEqual(expect.arrayContaining(['echo', 'get-sum', 'get-tiny-image']))
  const echo = await box.call('echo', { message: 'hello' })
  expect(echo.observation).toMatchObject({ kind: 'MCPToolObservation', tool_name: 'echo', is_error: false })
  expect(echo.texts).toEqual(["[Tool 'echo' executed.]", 'Echo: hello'])
  expect((await box.call('get-sum', { a: 2, b: 3 })).text).toContain('5')
  const image = await box.call('get-tiny-image')
  const [part] = image.observation.content.filter(({ type }) => type === 'image')
  expect(part).toMatchObject({ image_urls: [expect.stringMatching(/^data:image\/png;base64,iVBOR/)] })
  expect((await box.call('get-structured-content', { location: 'New York' })).text).toContain('temperature')
  expect(() => box.tools().get('echo')!.parse({})).toThrow(/message/)
  expect(() => box.tools().get('get-sum')!.parse({ a: 'two', b: 3 })).toThrow(/number/)
})

test.each(['sse', 'streamableHttp'] as const)('the server everything works over %s', async (transport) => {
  await using server = await startListening(transport)
  await using place = await startToolboxes()
  const box = await place.box({ there: { url: server.url } })
  expect(box.source.takeNotices()).toEqual([])
  expect((await box.call('echo', { message: 'over the wire' })).text).toBe('Echo: over the wire')
  expect((await box.call('get-sum', { a: 20, b: 22 })).text).toContain('42')
})

test.each(TRANSPORTS)(
  'the servers filesystem and memory work over %s, and tool names are prefixed with the server name',
  async (transport) => {
    await using place = await startToolboxes()
    await mkdir(place.workingDir, { recursive: true })
    await writeFile(`${place.workingDir}/note.txt`, 'in the workspace')
    const root = await realpath(place.workingDir)
    await using files = await startReachable(transport, stdio(FILESYSTEM, root))
    const env = { MEMORY_FILE_PATH: place.dir.file('memory.jsonl') }
    await using memory = await startReachable(transport, { ...stdio(MEMORY), env })
    const box = await place.box({
      files: files.config,
      memory: memory.config,
      off: { command: 'no-such-program', enabled: false },
    })
    expect(box.source.takeNotices()).toEqual([])
    expect(box.names()).toEqual(expect.arrayContaining(['files_read_text_file', 'memory_create_entities']))
    expect(box.names().filter((name) => !/^(files|memory)_/.test(name))).toEqual([])
    expect((await box.call('files_read_text_file', { path: `${root}/note.txt` })).text).toContain('in the workspace')
    const outside = await box.call('files_read_text_file', { path: '/etc/hostname' })
    expect(outside.isError).toBe(true)
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['counts'] }]
    await box.call('memory_create_entities', { entities })
    expect((await box.call('memory_search_nodes', { query: 'Ada' })).text).toContain('counts')
  },
)
