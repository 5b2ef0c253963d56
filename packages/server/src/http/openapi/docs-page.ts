/** `/docs`: the API description for people. One page without external resources; scripts only filter. */
import { createHash } from 'node:crypto'
import type { Document, Operation } from './openapi.ts'

type Json = Record<string, unknown>

const STYLE = `
:root{color-scheme:light dark;--line:color-mix(in srgb,currentColor 18%,transparent);--dim:color-mix(in srgb,currentColor 62%,transparent)}
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}p{margin:.3rem 0}
code,pre{font:13px/1.5 ui-monospace,monospace}pre{overflow:auto;padding:.7rem;border:1px solid var(--line);border-radius:6px;margin:.4rem 0}
details{border:1px solid var(--line);border-radius:6px;margin:.35rem 0;padding:.4rem .8rem}summary{cursor:pointer}
summary b{display:inline-block;width:4.5rem;font:600 12px ui-monospace,monospace}summary span,.dim{color:var(--dim)}
input{font:inherit;width:100%;box-sizing:border-box;padding:.5rem;margin:1rem 0;border:1px solid var(--line);border-radius:6px;background:none;color:inherit}
`
const SCRIPT = `
const box=document.querySelector('input')
box.addEventListener('input',()=>{const wanted=box.value.toLowerCase()
for(const item of document.querySelectorAll('details'))item.hidden=!item.textContent.toLowerCase().includes(wanted)})
const open=()=>{const item=document.getElementById(location.hash.slice(1));if(item&&item.tagName==='DETAILS')item.open=true}
addEventListener('hashchange',open);open()
`

const sha256 = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** Policy that allows only the style and script of the page itself. */
export const docsPolicy = (): string =>
  `default-src 'none'; style-src ${sha256(STYLE)}; script-src ${sha256(SCRIPT)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

/** Returns the page as HTML. */
export function docsPage({ info, paths, components }: Document): string {
  const byTag = new Map<string, string[]>()
  for (const [path, methods] of Object.entries(paths))
    for (const [method, operation] of Object.entries(methods)) {
      const tag = operation.tags[0] ?? ''
      byTag.set(tag, [...(byTag.get(tag) ?? []), operationHtml(method.toUpperCase(), path, operation)])
    }
  const operations = [...byTag].map(([tag, items]) => `<h2>${escape(tag)}</h2>${items.join('')}`).join('')
  const schemas = Object.entries(components.schemas)
    .sort(([a], [b]) => a.localeCompare(b))
    .map(
      ([name, schema]) =>
        `<details id="${escape(name)}"><summary><code>${escape(name)}</code></summary>${block(schema)}</details>`,
    )
    .join('')
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escape(String(info['title']))}</title><style>${STYLE}</style></head><body>
<h1>${escape(String(info['title']))} <span class="dim">${escape(String(info['version']))}</span></h1>
<p>${escape(String(info['description']))}</p>
<p>Requests carry a key in the header <code>X-Session-API-Key</code>. The same description for programs: <a href="/openapi.json">openapi.json</a>.</p>
<input type="search" placeholder="Filter by path, name or text" aria-label="Filter">
${operations}<h2>Records</h2>${schemas}<script>${SCRIPT}</script></body></html>`
}

function operationHtml(method: string, path: string, operation: Operation): string {
  const parameters = (operation.parameters ?? [])
    .map(
      (parameter) =>
        `${String(parameter['name'])}${parameter['required'] === true ? '' : '?'}: ${typeText(parameter['schema'], 0)}`,
    )
    .join('\n')
  const body = operation.requestBody?.content['application/json']?.schema
  const answers = Object.entries(operation.responses).map(([status, { description, content }]) => {
    const schema = content?.['application/json']?.schema
    return `<p><code>${status}</code> ${escape(description)}</p>${schema === undefined || Number(status) >= 400 ? '' : block(schema)}`
  })
  const head = `<summary><b>${method}</b><code>${escape(path)}</code> <span>${escape(operation.description)}</span></summary>`
  return `<details id="${escape(operation.operationId)}">${head}${
    parameters === '' ? '' : `<p>Parameters</p><pre>${linked(parameters)}</pre>`
  }${body === undefined ? '' : `<p>Body</p>${block(body)}`}${answers.join('')}</details>`
}

const block = (schema: unknown): string => `<pre>${linked(typeText(schema, 0))}</pre>`

/** Turns names of records in escaped text into links; until here, a reference is written as `→Name`. */
const linked = (text: string): string => escape(text).replaceAll(/→(\w+)/g, '<a href="#$1">$1</a>')

const escape = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')

/** A schema in the notation of a type. */
function typeText(schema: unknown, depth: number): string {
  if (typeof schema !== 'object' || schema === null) return 'any'
  const {
    $ref,
    anyOf,
    oneOf,
    allOf,
    enum: values,
    const: only,
    type,
    items,
    properties,
    additionalProperties,
  } = schema as Json
  if (typeof $ref === 'string') return `→${$ref.slice($ref.lastIndexOf('/') + 1)}`
  const branches = anyOf ?? oneOf
  if (Array.isArray(branches)) return branches.map((branch) => typeText(branch, depth)).join(' | ')
  if (Array.isArray(allOf)) return allOf.map((part) => typeText(part, depth)).join(' & ')
  if (only !== undefined) return JSON.stringify(only)
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(' | ')
  if (Array.isArray(type)) return type.join(' | ')
  if (type === 'array') return items === undefined ? 'any[]' : `(${typeText(items, depth)})[]`
  if (typeof properties === 'object' && properties !== null) return objectText(schema as Json, depth)
  if (type === 'object' && typeof additionalProperties === 'object')
    return `{ [name]: ${typeText(additionalProperties, depth)} }`
  return `${typeof type === 'string' ? type : 'any'}${boundsText(schema as Json)}`
}

function objectText({ properties, required }: Json, depth: number): string {
  const pad = '  '.repeat(depth + 1)
  const needed = new Set(Array.isArray(required) ? (required as string[]) : [])
  const lines = Object.entries(properties as Record<string, Json>).map(([name, member]) => {
    const byDefault = member['default'] === undefined ? '' : ` = ${JSON.stringify(member['default'])}`
    const comment = typeof member['description'] === 'string' ? `  // ${member['description']}` : ''
    return `${pad}${name}${needed.has(name) ? '' : '?'}: ${typeText(member, depth + 1)}${byDefault}${comment}`
  })
  return lines.length === 0 ? '{}' : `{\n${lines.join('\n')}\n${'  '.repeat(depth)}}`
}

const BOUNDS: Record<string, string> = {
  format: '',
  exclusiveMinimum: '> ',
  minimum: '>= ',
  exclusiveMaximum: '< ',
  maximum: '<= ',
  minLength: 'length >= ',
  maxLength: 'length <= ',
  pattern: '',
}

function boundsText(schema: Json): string {
  const bounds = Object.entries(BOUNDS).flatMap(([name, words]) =>
    schema[name] === undefined ? [] : [`${words}${schema[name] as string | number}`],
  )
  return bounds.length === 0 ? '' : ` (${bounds.join(', ')})`
}
