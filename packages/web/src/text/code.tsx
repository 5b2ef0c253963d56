/** A block of code with its language and a button that copies it. */
import { memo } from 'react'
import { conversation as words } from '../words/conversation.en.ts'
import { CopyButton } from './copy-button.tsx'

export const CodeBlock = memo(function CodeBlock({ text, language }: { text: string; language: string }) {
  return (
    <div className="code-block">
      <div className="code-head">
        <span>{language}</span>
        <CopyButton text={text} label={words.copyCode} />
      </div>
      <pre tabIndex={0} role="region" aria-label={words.codeOf(language)}>
        <code>{text}</code>
      </pre>
    </div>
  )
})
