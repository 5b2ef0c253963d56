/** Markdown as elements. HTML is shown as text, images of other origins as a chip that names their host. */
import { Fragment, memo, type ReactNode, useMemo, useRef } from 'react'
import type { Token, Tokens } from 'marked'
import { conversation as words } from '../words/conversation.en.ts'
import { CodeBlock } from './code.tsx'
import { hostOf, isDataImage, safeLink } from './links.ts'
import { type Block, blocksOf, childrenOf, GrowingBlocks, isKind, withEntities } from './markdown-blocks.ts'
import './markdown.css'

/** A text that does not change. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => blocksOf(text), [text])
  return <Blocks blocks={blocks} />
})

/** A text that grows at its end. */
export function GrowingMarkdown({ text }: { text: string }) {
  const growing = useRef<GrowingBlocks>(null)
  growing.current ??= new GrowingBlocks()
  return <Blocks blocks={growing.current.read(text)} />
}

function Blocks({ blocks }: { blocks: readonly Block[] }) {
  return (
    <div className="markdown">
      {blocks.map((block, index) => (
        <BlockView key={index} block={block} />
      ))}
    </div>
  )
}

const BlockView = memo(
  ({ block }: { block: Block }) => blockOf(block.token, 0),
  (before, after) => before.block.source === after.block.source,
)

/** Deeper quotes and lists are shown as their source. */
const MAX_DEPTH = 12

function blockOf(token: Token, depth: number): ReactNode {
  if (depth > MAX_DEPTH) return <p>{token.raw}</p>
  if (isKind(token, 'heading')) return headingOf(token)
  if (isKind(token, 'code')) return <CodeBlock text={token.text} language={(token.lang ?? '').split(/\s/)[0] ?? ''} />
  if (isKind(token, 'list')) return listElement(token, depth)
  if (isKind(token, 'table')) return tableElement(token)
  switch (token.type) {
    case 'paragraph':
      return <p>{inline(childrenOf(token))}</p>
    case 'blockquote':
      return <blockquote>{blocks(childrenOf(token), depth + 1)}</blockquote>
    case 'hr':
      return <hr />
    case 'text':
      return <>{'tokens' in token ? inline(childrenOf(token)) : token.raw}</>
    case 'space':
    case 'def':
      return null
    default:
      return <p className="as-text">{token.raw}</p>
  }
}

const blocks = (tokens: readonly Token[], depth: number): ReactNode =>
  tokens.map((token, index) => <Fragment key={index}>{blockOf(token, depth)}</Fragment>)

/** The page has its own headings, so those of a text begin at the third level. */
function headingOf(token: Tokens.Heading): ReactNode {
  const children = inline(token.tokens)
  if (token.depth === 1) return <h3 className="first">{children}</h3>
  return token.depth === 2 ? <h4>{children}</h4> : <h5>{children}</h5>
}

function listElement(token: Tokens.List, depth: number): ReactNode {
  const items = token.items.map((item, index) => (
    <li key={index} className={item.task ? 'task' : undefined}>
      {item.task ? <input type="checkbox" checked={item.checked === true} disabled aria-label={item.text} /> : null}
      {blocks(
        item.tokens.filter(({ type }) => type !== 'checkbox'),
        depth + 1,
      )}
    </li>
  ))
  return token.ordered ? <ol start={token.start === '' ? 1 : token.start}>{items}</ol> : <ul>{items}</ul>
}

function tableElement(token: Tokens.Table): ReactNode {
  return (
    <div className="table" tabIndex={0} role="region" aria-label={words.table}>
      <table>
        <thead>
          <tr>
            {token.header.map((cell, index) => (
              <th key={index}>{inline(cell.tokens)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {token.rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, index) => (
                <td key={index}>{inline(cell.tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const inline = (tokens: readonly Token[]): ReactNode =>
  tokens.map((token, index) => <Fragment key={index}>{inlineOf(token)}</Fragment>)

function inlineOf(token: Token): ReactNode {
  if (isKind(token, 'link')) return linkOf(token)
  if (isKind(token, 'image')) return <ImageOf address={token.href} text={token.text} />
  switch (token.type) {
    case 'strong':
      return <strong>{inline(childrenOf(token))}</strong>
    case 'em':
      return <em>{inline(childrenOf(token))}</em>
    case 'del':
      return <del>{inline(childrenOf(token))}</del>
    case 'codespan':
      return <code>{(token as Tokens.Codespan).text}</code>
    case 'br':
      return <br />
    case 'escape':
      return (token as Tokens.Escape).text
    case 'text':
      return 'tokens' in token ? inline(childrenOf(token)) : withEntities((token as Tokens.Text).text)
    default:
      return token.raw
  }
}

function linkOf(token: Tokens.Link): ReactNode {
  const link = safeLink(token.href, token.text)
  if (link === null) return token.raw
  return (
    <>
      <a href={link.href} target="_blank" rel="noopener noreferrer">
        {inline(token.tokens)}
      </a>
      {link.host === '' ? null : <span className="real-host"> ({words.leadsTo(link.host)})</span>}
    </>
  )
}

/** An image of a text: shown when its bytes are in its address, otherwise a link that names its host. */
export function ImageOf({ address, text }: { address: string; text: string }) {
  if (isDataImage(address)) return <img src={address} alt={text || words.image} />
  const host = hostOf(address)
  if (host === '') return <span className="image-chip">{words.imageWithoutHost(text)}</span>
  return (
    <a className="image-chip" href={address} target="_blank" rel="noopener noreferrer">
      {words.imageFrom(text, host)}
    </a>
  )
}
