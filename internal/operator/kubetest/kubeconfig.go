package kubetest

import (
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// WriteKubeconfig writes the connection of an administrator to a file, for programs. The audit log has their writes under the
// user's name.
func (s *Server) WriteKubeconfig(file, user string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: s.Config.Host, CertificateAuthorityData: s.Config.CAData}
	config.AuthInfos["test"] = &clientcmdapi.AuthInfo{Token: s.Config.BearerToken, Impersonate: user, ImpersonateGroups: []string{"system:masters"}}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	return clientcmd.WriteToFile(*config, file)
}
