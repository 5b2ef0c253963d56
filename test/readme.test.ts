import { expect, test } from 'vitest'
import { describeConfig, readConfig } from '../packages/server/src/config/config.ts'
import { readSource, sourceFiles } from './source-files.ts'

const readme = readSource('README.md')

test('the configuration table names every setting, and no other', () => {
  const { config, origins } = readConfig({ flags: {}, env: {}, cwd: '/', home: '/home/someone' })
  const settings = describeConfig(config, origins).map((line) => line.split(' ')[0])
  const rows = readme.split('\n').filter((line) => line.startsWith('|') && line.includes('`PARLEY_'))
  const named = rows.flatMap((row) => /`(\w+)`/.exec(row.split('|')[3] ?? '')?.[1] ?? [])
  expect(named).toEqual(settings)
  const variables = rows.map((row) => /`PARLEY_(\w+)`/.exec(row)?.[1]?.toLowerCase())
  expect(variables.filter((name) => name !== 'config')).toEqual(settings)
})

test('the documents point at files that exist', () => {
  const documents = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...sourceFiles('docs/**/*.md')]
  const broken = documents.flatMap((document) =>
    [...readSource(document).matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)]
      .map(([, target]) => new URL(target!, `file:///${document}`).pathname.slice(1))
      .filter((target) => sourceFiles(target.replace(/\/$/, '')).length === 0)
      .map((target) => `${document} points at ${target}`),
  )
  expect(broken).toEqual([])
})

test('the documents name only commands that package.json has', () => {
  const { scripts = {} } = JSON.parse(readSource('package.json')) as { scripts?: Record<string, string> }
  const documents = ['README.md', 'CONTRIBUTING.md', ...sourceFiles('docs/**/*.md')]
  const named = documents.flatMap((document) => [
    ...readSource(document).matchAll(/npm (?:run (?:--silent )?)?(start|test|[\w:]+)/g),
  ])
  const commands = new Set(
    named.map(([, command]) => command!).filter((command) => !['ci', 'install', 'picks', 'and'].includes(command)),
  )
  expect([...commands].filter((command) => !(command in scripts))).toEqual([])
})
