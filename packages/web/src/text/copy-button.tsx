/** A button that copies a text and says so. */
import { Check, Copy } from '../ui/icons.ts'
import { useEffect, useState } from 'react'
import { conversation as words } from '../words/conversation.en.ts'

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return undefined
    const timer = setTimeout(() => setCopied(false), 1500)
    return () => clearTimeout(timer)
  }, [isCopied])
  return (
    <button
      type="button"
      className="icon-button"
      aria-label={isCopied ? words.copied : label}
      title={label}
      onClick={() => void copyText(text).then(setCopied)}
    >
      {isCopied ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
    </button>
  )
}

/** Copies a text; resolves to false where the browser does not allow it, for example over plain HTTP. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}
