/** Follows the changes of all conversations, and says when the server has become a newer one than the page. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { followFeed } from '../api/feed.ts'
import { announce } from '../ui/announce.tsx'
import { Button } from '../ui/button.tsx'
import { live as words } from '../words/live.en.ts'
import './live.css'

export function Live() {
  const client = useQueryClient()
  const [isOutdated, setOutdated] = useState(false)
  useEffect(() => followFeed(client, () => setOutdated(true)), [client])
  useEffect(() => {
    if (isOutdated) announce(words.newVersion)
  }, [isOutdated])
  if (!isOutdated) return null
  return (
    <div className="new-version">
      <p>{words.newVersion}</p>
      <Button size="small" onClick={() => location.reload()}>
        {words.reload}
      </Button>
    </div>
  )
}
