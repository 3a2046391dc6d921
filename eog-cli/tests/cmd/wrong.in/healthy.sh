# A policy to which nobody is ill.
cat >/dev/null
echo '{"label": "healthy", "summary": "all is well here"}'
